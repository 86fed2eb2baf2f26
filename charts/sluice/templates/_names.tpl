{{/* 52 letters: the name of a Job with `-unregister`, and of a StatefulSet with a hash of its revision, are labels of at
most 63. */}}
{{- define "sluice.name" -}}{{ .Release.Name | trunc 52 | trimSuffix "-" }}{{- end -}}

{{/* The process looks for its pods by the same name. */}}
{{- define "sluice.selector" -}}
app.kubernetes.io/name: sluice
app.kubernetes.io/instance: {{ include "sluice.name" . }}
{{- end -}}

{{- define "sluice.labels" -}}
{{ include "sluice.selector" . }}
app.kubernetes.io/part-of: sluice
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{/* The settings of the queues: the fields of `settings`, else those of Kueue's Configuration, as `serve` reads both: a
field without a value is not there. */}}
{{- define "sluice.queueSettings" -}}
{{- $found := dict -}}
{{- with .Values.kueueConfig -}}
{{- $found = fromYaml . -}}
{{- if or (hasKey $found "Error") (ne (get $found "kind") "Configuration") -}}
{{- fail "kueueConfig: not a Configuration of config.kueue.x-k8s.io in YAML or JSON" -}}
{{- end -}}
{{- end -}}
{{- range $name, $value := .Values.settings }}{{ if ne $value nil }}{{ $_ := set $found $name $value }}{{ end }}{{ end -}}
{{- range $name, $value := $found -}}
{{- if eq $value nil }}{{ $_ := unset $found $name }}{{ end -}}
{{- if kindIs "map" $value -}}
{{- range $inner, $of := $value }}{{ if eq $of nil }}{{ $_ := unset $value $inner }}{{ end }}{{ end -}}
{{- end -}}
{{- end -}}
{{- toYaml $found -}}
{{- end -}}

{{/* Seconds that the port of a replica which ends stays open: load balancers have to notice first. 0 is one too. */}}
{{- define "sluice.shutdownDelay" -}}
{{- has (get .Values.settings "shutdownDelay") (list nil "") | ternary 5 (get .Values.settings "shutdownDelay") -}}
{{- end -}}

{{/* "true" where the visibility API is served: only by embedded queues; where nothing else is said, in a Kueue's place. */}}
{{- define "sluice.visibility" -}}
{{- $gates := dig "featureGates" dict (include "sluice.queueSettings" . | fromYaml) -}}
{{- $auto := and .Values.kueueConfig (dig "VisibilityOnDemand" true $gates) -}}
{{- if and (eq .Values.mode "embedded") (eq (toString .Values.visibility.enabled) "auto" | ternary $auto .Values.visibility.enabled) }}true{{ end -}}
{{- end -}}

{{/* The port of the visibility API: that of Kueue's Configuration, else Kueue's default. */}}
{{- define "sluice.visibilityPort" -}}
{{- dig "visibilityServer" "bindPort" 8082 (include "sluice.queueSettings" . | fromYaml) -}}
{{- end -}}

{{/* The kind of the replicas: one that gives each a claim of its own, where what they write outlives them. */}}
{{- define "sluice.kind" -}}
{{- and .Values.journal.enabled .Values.journal.persistent | ternary "StatefulSet" "Deployment" -}}
{{- end -}}

{{/* The label by which a namespace opts in, empty where all are matched. */}}
{{- define "sluice.optIn" -}}
{{- with .Values.optIn }}{{ if .label }}{{ printf "%s=%s" .label .value }}{{ end }}{{ end -}}
{{- end -}}

{{/* The resources of the job kinds that are held and started, by group. */}}
{{- define "sluice.jobs" -}}
batch: [jobs]
jobset.x-k8s.io: [jobsets]
kubeflow.org: [mpijobs, pytorchjobs, tfjobs, paddlejobs, xgboostjobs, jaxjobs]
trainer.kubeflow.org: [trainjobs]
ray.io: [rayclusters, rayjobs, rayservices]
sparkoperator.k8s.io: [sparkapplications]
workload.codeflare.dev: [appwrappers]
{{- end -}}

{{- define "sluice.image" -}}
{{- $tag := .Values.image.tag | default .Chart.AppVersion -}}
{{ .Values.image.repository }}{{ hasPrefix "sha256:" $tag | ternary "@" ":" }}{{ $tag }}
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

{{/* The folders of the policies in `folder`, one a line. Where no embedded queue takes a Pod's gate off, no policy of the
shipped ones sets it, however their folder is written. */}}
{{- define "sluice.folders" -}}
{{- if and (ne .root.Values.mode "embedded") .folder (eq (clean .folder) "/opt/sluice/policies") -}}
{{- range list "frozen-while-admitted" "gpu-defaults" "gpu-integer" "gpu-tolerations" "job-user" "limit-range" "priority-class" "queue-name" "queue-required" "stays-queued" "suspend-jobs" "valid-jobs" "valid-pods" }}
/opt/sluice/policies/{{ . }}
{{- end }}
{{- else }}
{{ .folder }}
{{- end }}
{{- end -}}

{{/* What is mounted besides certificates: configuration and policy files. */}}
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
{{ include "sluice.folders" (dict "root" . "folder" .Values.policies.shipped) }}
{{- if .Values.policies.files }}
/etc/sluice/policies
{{- end }}
{{- if .Values.policies.image }}
/etc/sluice/policy-image
{{- end }}
{{- range .Values.policies.paths }}
{{ include "sluice.folders" (dict "root" $ "folder" .) }}
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
        app.kubernetes.io/instance: {{ include "sluice.name" .root }}
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
          {{- end }}
      {{- if .mounted }}
      volumes:
        - name: authority
          secret: {secretName: {{ .root.Values.tls.secret }}, defaultMode: 288, items: [{key: ca.crt, path: ca.crt}]}
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
