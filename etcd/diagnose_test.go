//go:build unix

package main

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// The authority's certificate is asked for only where it is the authority that is unknown.
func TestDiagnoseCertificate(t *testing.T) {
	for why, want := range map[string]string{
		"x509: certificate signed by unknown authority":     "its certificate is refused: x509: certificate signed by unknown authority: set ETCDCTL_CACERT",
		"x509: certificate is valid for a.test, not b.test": "its certificate is refused: x509: certificate is valid for a.test, not b.test\n",
	} {
		failure := status.Error(codes.Unavailable, `connection error: desc = "transport: authentication handshake failed: tls: failed to verify certificate: `+why+`"`)
		if got := diagnose(t.Context(), "https://b.test:2379", nil, failure).Error() + "\n"; !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
