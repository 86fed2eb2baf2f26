{{- define "sluice.name" -}}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{- end -}}

{{- define "sluice.selector" -}}
app.kubernetes.io/name: sluice
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "sluice.labels" -}}
{{ include "sluice.selector" . }}
app.kubernetes.io/part-of: sluice
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{/* "true" where the visibility API is served: only by embedded queues. */}}
{{- define "sluice.visibility" -}}
{{- if and .Values.visibility.enabled (eq .Values.mode "embedded") }}true{{ end -}}
{{- end -}}

{{- define "sluice.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{- define "sluice.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "sluice.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{/* The folders of shipped policies, one a line. Where no embedded queue takes a Pod's gate off, no policy sets it. */}}
{{- define "sluice.shipped" -}}
{{- if and (ne .Values.mode "embedded") (eq .Values.policies.shipped "/opt/sluice/policies") -}}
{{- range list "frozen-while-admitted" "gpu-defaults" "gpu-integer" "gpu-tolerations" "job-user" "limit-range" "queue-name" "queue-required" "suspend-jobs" "valid-jobs" }}
/opt/sluice/policies/{{ . }}
{{- end }}
{{- else }}
{{ .Values.policies.shipped }}
{{- end }}
{{- end -}}

{{/* What serving and registering mount alike: certificates and policy files. */}}
{{- define "sluice.mounts" -}}
- {name: certificates, mountPath: /etc/sluice/certs, readOnly: true}
- {name: configuration, mountPath: /etc/sluice/configuration, readOnly: true}
{{- if .Values.policies.files }}
- {name: policies, mountPath: /etc/sluice/policies, readOnly: true}
{{- end }}
{{- end -}}

{{- define "sluice.volumes" -}}
- name: certificates
  secret: {secretName: {{ .Values.tls.secret }}, defaultMode: 288}
- name: configuration
  configMap: {name: {{ include "sluice.name" . }}}
{{- if .Values.policies.files }}
- name: policies
  configMap: {name: {{ include "sluice.name" . }}-policies}
{{- end }}
{{- end -}}

{{/* A Job around `sluice register`; `arguments` is a list. */}}
{{- define "sluice.registrationJob" -}}
spec:
  backoffLimit: 5
  template:
    metadata:
      labels:
        app.kubernetes.io/name: sluice-registration
        app.kubernetes.io/instance: {{ .root.Release.Name }}
    spec:
      restartPolicy: Never
      serviceAccountName: {{ include "sluice.name" .root }}-registration
      securityContext:
        {{- include "sluice.podSecurity" .root | nindent 8 }}
      containers:
        - name: register
          image: {{ include "sluice.image" .root }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          args: {{ toJson .arguments }}
          securityContext:
            {{- include "sluice.containerSecurity" .root | nindent 12 }}
          {{- if .mounted }}
          volumeMounts:
            {{- include "sluice.mounts" .root | nindent 12 }}
          {{- end }}
      {{- if .mounted }}
      volumes:
        {{- include "sluice.volumes" .root | nindent 8 }}
      {{- end }}
{{- end -}}
