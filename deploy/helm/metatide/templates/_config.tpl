{{/* metatide.toml: what the chart decides, what the values say, and where files are mounted. */}}
{{- define "metatide.toml" -}}
{{- $required := "is needed: see docs/kubernetes.md" -}}
{{- $_ := required (printf "config.kafka.bootstrap_servers %s" $required) (dig "kafka" "bootstrap_servers" "" .Values.config) -}}
{{- $_ := required (printf "config.database.url %s" $required) (dig "database" "url" "" .Values.config) -}}
{{- $all := dict "connect" (dict "host" "0.0.0.0" "port" 8080) "worker" (dict "host" "0.0.0.0" "port" 8080 "advertised_port" 8080) "http" (dict "host" "0.0.0.0" "port" 8080) "thrift" (dict "host" "0.0.0.0") -}}
{{- /* A name that ends in the namespace may be one of the Internet's, as metatide-worker.dev. */ -}}
{{- $hosts := list -}}
{{- range $role, $values := dict "worker" .Values.workers "serve" .Values.serve -}}
{{- if $values.enabled -}}
{{- $host := include "metatide.host" (dict "root" $ "role" $role) -}}
{{- /* Its short name is needed where a pod's proxy passes requests on, as in a mesh: they look local. */ -}}
{{- $service := printf "%s-%s" (include "metatide.fullname" $) $role -}}
{{- $hosts = concat $hosts (list $service $host (printf "%s.%s" $host $.Values.clusterDomain)) -}}
{{- end -}}
{{- end -}}
{{- with dig "reads" "hosts" "" .Values.config }}{{ $hosts = append $hosts . }}{{ end -}}
{{- with $hosts }}{{ $_ := set $all "reads" (dict "hosts" (join "," .)) }}{{ end -}}
{{- range $section, $keys := .Values.config -}}
{{- $_ := set $all $section (merge (get $all $section | default dict) $keys) -}}
{{- end -}}
{{- range $name, $_ := .Values.files -}}
{{- $parts := splitn "." 2 $name -}}
{{- $_ := set $all $parts._0 (merge (get $all $parts._0 | default dict) (dict $parts._1 (printf "/etc/metatide/files/%s" $name))) -}}
{{- end -}}
data_dir = "/var/lib/metatide"
cache_dir = "/tmp/metatide"
{{- range $section := keys $all | sortAlpha }}

[{{ $section }}]
{{- range $key, $value := get $all $section }}
{{ $key }} = {{ toJson $value }}
{{- end }}
{{- end }}
{{ end -}}
