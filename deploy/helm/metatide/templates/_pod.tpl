{{/* What the pods of all roles have in common: a dict of root, role, values and the name. */}}
{{- define "metatide.podMetadata" -}}
labels:
  # Nothing of the release, so that one role can be upgraded before the others.
  {{- include "metatide.selector" . | nindent 2 }}
annotations:
  # Another configuration is another pod.
  metatide/config: {{ include "metatide.toml" .root | sha256sum }}
{{- end -}}

{{- define "metatide.podSpec" -}}
serviceAccountName: {{ include "metatide.fullname" .root }}
automountServiceAccountToken: false
# The variables of a Service called NAME-worker would be taken for settings.
enableServiceLinks: false
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile:
    type: RuntimeDefault
{{- with .values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if .values.topologySpread }}
topologySpreadConstraints:
  {{- range $key := list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
  - maxSkew: 1
    topologyKey: {{ $key }}
    whenUnsatisfiable: {{ $.values.topologySpread }}
    labelSelector:
      matchLabels:
        {{- include "metatide.selector" $ | nindent 8 }}
  {{- end }}
{{- end }}
volumes:
  - name: config
    configMap:
      name: {{ include "metatide.fullname" .root }}
  - name: tmp
    emptyDir: {}
  {{- if has .role (list "serve" "spark") }}
  # What it keeps is made anew at each start.
  - name: data
    emptyDir:
      {{- if .values.storage }}
      sizeLimit: {{ .values.storage.size }}
      {{- else }} {}
      {{- end }}
  {{- end }}
  {{- with include "metatide.filesOf" . | fromYaml }}
  - name: files
    projected:
      defaultMode: 0440
      sources:
        {{- range $name, $source := . }}
        {{- if $source.secret }}
        - secret:
            name: {{ $source.secret }}
            items: [{key: {{ $source.key | quote }}, path: {{ $name }}}]
        {{- else }}
        - configMap:
            name: {{ $source.configMap }}
            items: [{key: {{ $source.key | quote }}, path: {{ $name }}}]
        {{- end }}
        {{- end }}
  {{- end }}
  {{- with .root.Values.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "metatide.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end -}}

{{- define "metatide.env" -}}
- name: METATIDE_CONFIG
  value: /etc/metatide/config/metatide.toml
{{- with .root.Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "metatide.volumeMounts" -}}
- name: config
  mountPath: /etc/metatide/config
  readOnly: true
- name: tmp
  mountPath: /tmp
{{- if include "metatide.filesOf" . | fromYaml }}
- name: files
  mountPath: /etc/metatide/files
  readOnly: true
{{- end }}
{{- if ne .role "connector" }}
- name: data
  mountPath: /var/lib/metatide
{{- end }}
{{- with .root.Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* A probe: a dict of path, scheme, every and failures. */}}
{{- define "metatide.probe" -}}
httpGet:
  path: {{ .path }}
  port: http
  scheme: {{ upper .scheme }}
periodSeconds: {{ .every }}
timeoutSeconds: 5
failureThreshold: {{ .failures }}
{{- end -}}
