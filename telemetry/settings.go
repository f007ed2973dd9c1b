package telemetry

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// settings are those of the export, as the variables OTEL_EXPORTER_OTLP_* state them.
type settings struct {
	endpoint string
	header   http.Header
	timeout  time.Duration
	gzip     bool
	tls      *tls.Config
}

// exportTimeout bounds the export of a batch, with its repetitions, if no variable does.
const exportTimeout = 10 * time.Second

// exportSettings reads the variables. It returns nil if they name no collector, or switch traces off.
func exportSettings(getenv func(string) string) (*settings, error) {
	of := func(name string) string {
		return strings.TrimSpace(cmp.Or(getenv("OTEL_EXPORTER_OTLP_TRACES_"+name), getenv("OTEL_EXPORTER_OTLP_"+name)))
	}
	switch exporter := strings.TrimSpace(getenv("OTEL_TRACES_EXPORTER")); {
	case strings.EqualFold(strings.TrimSpace(getenv("OTEL_SDK_DISABLED")), "true"), exporter == "none":
		return nil, nil
	case exporter != "" && exporter != "otlp":
		return nil, fmt.Errorf("telemetry: OTEL_TRACES_EXPORTER: %q is not supported (want otlp or none)", exporter)
	}
	endpoint, err := endpointOf(getenv)
	if err != nil || endpoint == "" {
		return nil, err
	}
	if p := of("PROTOCOL"); p != "" && p != "http/protobuf" {
		return nil, fmt.Errorf("telemetry: OTEL_EXPORTER_OTLP_PROTOCOL: %q is not supported (want http/protobuf, which collectors take on port 4318)", p)
	}
	s := &settings{endpoint: endpoint, timeout: exportTimeout}
	switch c := of("COMPRESSION"); c {
	case "", "none":
	case "gzip":
		s.gzip = true
	default:
		return nil, fmt.Errorf("telemetry: OTEL_EXPORTER_OTLP_COMPRESSION: %q is not supported (want gzip or none)", c)
	}
	if text := of("TIMEOUT"); text != "" {
		ms, err := strconv.ParseInt(text, 10, 32)
		if err != nil || ms < 1 {
			return nil, fmt.Errorf("telemetry: OTEL_EXPORTER_OTLP_TIMEOUT: %q is no time (want milliseconds, such as 10000)", text)
		}
		s.timeout = time.Duration(ms) * time.Millisecond
	}
	if s.header, err = headersOf(of("HEADERS")); err != nil {
		return nil, err
	}
	s.tls, err = tlsOf(of)
	return s, err
}

// endpointOf returns the address that spans are sent to, "" if there is none.
func endpointOf(getenv func(string) string) (string, error) {
	name, path := "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", ""
	text := strings.TrimSpace(getenv(name))
	if text == "" {
		name, path = "OTEL_EXPORTER_OTLP_ENDPOINT", "v1/traces"
		text = strings.TrimSpace(getenv(name))
	}
	if text == "" {
		return "", nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("telemetry: %s: want an address such as http://localhost:4318", name) // it may have a password
	}
	if path != "" {
		u = u.JoinPath(path)
	}
	return u.String(), nil
}

// headersOf reads name=value,name=value. Values are as in a URL. Errors show none, because they may
// be keys.
func headersOf(text string) (http.Header, error) {
	h := http.Header{}
	for pair := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || err != nil || name == "" || strings.ContainsAny(name+value, "\r\n\x00") || strings.ContainsAny(name, " \t:") {
			return nil, fmt.Errorf("telemetry: OTEL_EXPORTER_OTLP_HEADERS: a header is not valid (want name=value,name=value)")
		}
		h.Set(name, value)
	}
	return h, nil
}

// tlsOf reads the certificates of the export. It returns nil if there are none.
func tlsOf(of func(string) string) (*tls.Config, error) {
	ca, cert, key := of("CERTIFICATE"), of("CLIENT_CERTIFICATE"), of("CLIENT_KEY")
	if ca == "" && cert == "" && key == "" {
		return nil, nil
	}
	out := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return nil, fmt.Errorf("telemetry: OTEL_EXPORTER_OTLP_CERTIFICATE: %w", err)
		}
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("telemetry: OTEL_EXPORTER_OTLP_CERTIFICATE: %s has no certificate in PEM", ca)
		}
	}
	if cert != "" || key != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("telemetry: OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY: %w", err)
		}
		out.Certificates = []tls.Certificate{pair}
	}
	return out, nil
}

// checkSampler refuses a sampler that the library would replace by its default without a word.
func checkSampler(getenv func(string) string) error {
	name := strings.ToLower(strings.TrimSpace(getenv("OTEL_TRACES_SAMPLER")))
	switch name {
	case "", "always_on", "always_off", "parentbased_always_on", "parentbased_always_off":
		return nil
	case "traceidratio", "parentbased_traceidratio":
	default:
		return fmt.Errorf("telemetry: OTEL_TRACES_SAMPLER: %q is not supported (want parentbased_traceidratio, with a share such as 0.1 in OTEL_TRACES_SAMPLER_ARG)", name)
	}
	arg := strings.TrimSpace(getenv("OTEL_TRACES_SAMPLER_ARG"))
	if share, err := strconv.ParseFloat(arg, 64); arg != "" && (err != nil || !(share >= 0 && share <= 1)) {
		return fmt.Errorf("telemetry: OTEL_TRACES_SAMPLER_ARG: %q is no share (want 0 to 1, such as 0.1)", arg)
	}
	return nil
}
