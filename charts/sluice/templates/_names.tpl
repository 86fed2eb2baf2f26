{{- define "sluice.name" -}}{{ .Release.Name | trunc 53 | trimSuffix "-" }}{{- end -}}

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
{{- range list "frozen-while-admitted" "gpu-defaults" "gpu-integer" "gpu-tolerations" "job-user" "limit-range" "priority-class" "queue-name" "queue-required" "stays-queued" "suspend-jobs" "valid-jobs" "valid-pods" }}
/opt/sluice/policies/{{ . }}
{{- end }}
{{- else }}
{{ .Values.policies.shipped }}
{{- end }}
{{- end -}}

{{/* What serving and registering mount alike, besides certificates: configuration and policy files. */}}
{{- define "sluice.mounts" -}}
- {name: configuration, mountPath: /etc/sluice/configuration, readOnly: true}
{{- if .Values.policies.files }}
- {name: policies, mountPath: /etc/sluice/policies, readOnly: true}
{{- end }}
{{- if .Values.policies.image }}
- {name: policy-image, mountPath: /etc/sluice/policy-image, readOnly: true}
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "sluice.volumes" -}}
- name: configuration
  configMap: {name: {{ include "sluice.name" . }}}
{{- if .Values.policies.files }}
- name: policies
  configMap: {name: {{ include "sluice.name" . }}-policies}
{{- end }}
{{- with .Values.policies.image }}
- name: policy-image
  image: {reference: {{ . | quote }}, pullPolicy: IfNotPresent}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* All places of policies, one a line. */}}
{{- define "sluice.policies" -}}
{{ include "sluice.shipped" . }}
{{- if .Values.policies.files }}
/etc/sluice/policies
{{- end }}
{{- if .Values.policies.image }}
/etc/sluice/policy-image
{{- end }}
{{- range .Values.policies.paths }}
{{ . }}
{{- end }}
{{- end -}}

{{/* The queue's kinds as resources, and the names of their CRDs: lists of YAML. */}}
{{- define "sluice.plurals" -}}
[admissionchecks, clusterqueues, cohorts, localqueues, multikueueclusters, multikueueconfigs, provisioningrequestconfigs, resourceflavors, topologies, workloadpriorityclasses, workloads]
{{- end -}}

{{- define "sluice.crds" -}}
[{{ range $index, $plural := include "sluice.plurals" . | fromYamlArray }}{{ if $index }}, {{ end }}{{ $plural }}.kueue.x-k8s.io{{ end }}]
{{- end -}}

{{/* A Job around a command of `sluice`: `root`, `name` (of the container), `account`, `arguments`, `mounted`. */}}
{{- define "sluice.job" -}}
spec:
  backoffLimit: 8
  template:
    metadata:
      labels:
        app.kubernetes.io/name: sluice-{{ .name }}
        app.kubernetes.io/instance: {{ .root.Release.Name }}
    spec:
      restartPolicy: Never
      serviceAccountName: {{ include "sluice.name" .root }}-{{ .account }}
      securityContext:
        {{- include "sluice.podSecurity" .root | nindent 8 }}
      {{- include "sluice.pull" .root | nindent 6 }}
      {{- include "sluice.placement" .root | nindent 6 }}
      containers:
        - name: {{ .name }}
          image: {{ include "sluice.image" .root }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          args: {{ toJson .arguments }}
          securityContext:
            {{- include "sluice.containerSecurity" .root | nindent 12 }}
          {{- if .mounted }}
          volumeMounts:
            - {name: authority, mountPath: /etc/sluice/authority, readOnly: true}
            {{- include "sluice.mounts" .root | nindent 12 }}
          {{- end }}
      {{- if .mounted }}
      volumes:
        - name: authority
          secret: {secretName: {{ .root.Values.tls.secret }}, defaultMode: 288, items: [{key: ca.crt, path: ca.crt}]}
        {{- include "sluice.volumes" .root | nindent 8 }}
      {{- end }}
{{- end -}}

{{- define "sluice.pull" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- end -}}

{{- define "sluice.placement" -}}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
