{{/* Kubernetes gives a StatefulSet 52 characters, of which `-worker` takes seven. */}}
{{- define "metatide.fullname" -}}
{{- $name := .Release.Name -}}
{{- if not (contains .Chart.Name $name) }}{{ $name = printf "%s-%s" $name .Chart.Name }}{{ end -}}
{{ trunc 45 $name | trimSuffix "-" }}
{{- end -}}

{{/* The name by which readers in the cluster ask a role: a dict of root and role. */}}
{{- define "metatide.host" -}}
{{ include "metatide.fullname" .root }}-{{ .role }}.{{ .root.Release.Namespace }}.svc
{{- end -}}

{{/* What selects the pods of a role: a dict of root and role. */}}
{{- define "metatide.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .role }}
{{- end -}}

{{- define "metatide.labels" -}}
{{ include "metatide.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end -}}

{{/* The scheme of workers and of serve. */}}
{{- define "metatide.scheme" -}}
{{ if hasKey .Values.files "reads.tls_certificate" }}https{{ else }}http{{ end }}
{{- end -}}

{{/* The ports of Thrift by their names, as an object; those of HTTP are 8080. */}}
{{- define "metatide.thriftPorts" -}}
{{- $port := dig "thrift" "port" "" .Values.config | toString -}}
{{- $httpPort := dig "thrift" "http_port" "" .Values.config | toString -}}
{{- if and $port (eq $port $httpPort) -}}
{{- fail (printf "config.thrift.port and config.thrift.http_port are both %s: give each a port of its own" $port) -}}
{{- end -}}
{{- with $port }}
thrift: {{ . }}
{{- end }}
{{- with $httpPort }}
thrift-http: {{ . }}
{{- end }}
{{- end -}}

{{/* A quantity of bytes, in MiB. */}}
{{- define "metatide.mib" -}}
{{- $suffix := regexFind "[A-Za-z]*$" . -}}
{{- $bytes := dict "" 1 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 -}}
{{- if not (hasKey $bytes $suffix) }}{{ fail (printf "%s: give a quantity of memory in Mi or Gi" .) }}{{ end -}}
{{ divf (mulf (trimSuffix $suffix . | float64) (get $bytes $suffix)) 1048576 | floor | int64 }}
{{- end -}}

{{/* Refuses a limit of memory that stores and answers together exceed: a dict of root and role. */}}
{{- define "metatide.checkMemory" -}}
{{- $limit := dig "resources" "limits" "memory" "" (index .root.Values .role) | toString -}}
{{- $mib := include "metatide.mib" $limit | int -}}
{{- $needed := add 500 (dig "state" "memory_mib" 160 .root.Values.config) | int -}}
{{- if and $mib (lt $mib $needed) -}}
{{- fail (printf "%s.resources.limits.memory is %s: config.state.memory_mib and 500 MiB need %dMi" .role $limit $needed) -}}
{{- end -}}
{{- end -}}

{{- define "metatide.image" -}}
{{ .root.Values.image.repository }}:{{ .tag | default .root.Values.image.tag | default .root.Chart.AppVersion }}
{{- end -}}

{{/* The files that a role reads, as an object: a dict of root and role. */}}
{{- define "metatide.filesOf" -}}
{{- $prefixes := dict "connector" (list "kafka." "database." "client.") "spark" (list "kafka." "database." "client.") "serve" (list "kafka." "database." "client." "reads." "upstream.") -}}
{{- $files := dict -}}
{{- $role := .role -}}
{{- range $name, $source := .root.Values.files -}}
{{- if eq $role "worker" }}{{ $_ := set $files $name $source }}{{ end -}}
{{- range $prefix := get $prefixes $role | default list -}}
{{- if hasPrefix $prefix $name }}{{ $_ := set $files $name $source }}{{ end -}}
{{- end -}}
{{- end -}}
{{ toYaml $files }}
{{- end -}}
