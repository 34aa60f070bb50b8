{{- define "llmd.name" -}}
{{- $name := contains .Chart.Name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name .Chart.Name) -}}
{{- $name | trunc 52 | trimSuffix "-" }}
{{- end }}

{{- define "llmd.selector" -}}
app.kubernetes.io/name: llmd
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "llmd.labels" -}}
{{ include "llmd.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- /* The configuration: what the chart sets, under what the user says. */}}
{{- define "llmd.config" -}}
{{- $server := dict
      "listen" (list (printf "tcp://0.0.0.0:%v" .Values.service.port) "unix:///run/llmd/llmd.sock")
      "drain_timeout" (printf "%vs" .Values.drainSeconds) }}
{{- if .Values.tls.secretName }}
{{- $tls := dict "cert_file" "/etc/llmd/tls/tls.crt" "key_file" "/etc/llmd/tls/tls.key" }}
{{- if .Values.tls.clientCA }}{{ $_ := set $tls "client_ca_file" "/etc/llmd/tls/ca.crt" }}{{ end }}
{{- $_ := set $server "tls" $tls }}
{{- end }}
{{- if .Values.service.webPort }}
{{- $_ := set $server "web" (dict "listen" (list (printf "tcp://0.0.0.0:%v" .Values.service.webPort))) }}
{{- end }}
{{- $admin := dict "listen" (printf "tcp://%s:%v" (ternary "0.0.0.0" "127.0.0.1" .Values.admin.open) .Values.admin.port) }}
{{- if .Values.admin.open }}{{ $_ := set $admin "allow_insecure" true }}{{ end }}
{{- $_ := set $server "admin" $admin }}
{{- if and .Values.admin.podMonitor (not .Values.admin.open) }}{{ fail "admin.podMonitor needs admin.open" }}{{ end }}
{{- if .Values.allowInsecure }}{{ $_ := set $server "allow_insecure" true }}{{ end }}
{{- with get .Values.config "server" }}
{{- if hasKey . "drain_timeout" }}{{ fail "config.server.drain_timeout: set drainSeconds instead, by which the pod is given its time" }}{{ end }}
{{- if and (hasKey . "listen") (not (has "unix:///run/llmd/llmd.sock" (kindIs "string" .listen | ternary (list .listen) .listen))) }}
{{- fail "config.server.listen must have unix:///run/llmd/llmd.sock, too: the probes ask there" }}
{{- end }}
{{- end }}
{{- $config := mustMergeOverwrite (dict "server" $server) (deepCopy .Values.config) }}
{{- if not (or .Values.allowInsecure (and (hasKey $config.server "tls") (hasKey $config.server "auth"))) }}
{{- fail "llmd listens for other pods: set tls.secretName and config.server.auth, or allowInsecure: true if something else protects it" }}
{{- end }}
{{- toYaml $config }}
{{- end }}
