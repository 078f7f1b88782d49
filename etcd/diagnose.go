//go:build unix

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"example.org/flock/internal/cli"
	"example.org/flock/internal/sys"
)

// diagnose returns a usage error, which says what to change, if the connection to a member has failed with err because the
// variables are wrong, or else err. What grpc reports is the same for many causes, such as EOF, so diagnose makes a
// connection of its own.
func diagnose(ctx context.Context, endpoint string, c *tls.Config, err error) error {
	text := err.Error()
	scheme, address, found := strings.Cut(endpoint, "://")
	if !found {
		scheme, address = "", endpoint
	}
	switch {
	case code(err) != codes.Unavailable || strings.Contains(text, "Error while dialing: ") || strings.HasPrefix(scheme, "unix"):
		return err
	case strings.Contains(text, "failed to verify certificate: "):
		_, why, _ := strings.Cut(strings.TrimSuffix(text, `"`), "failed to verify certificate: ")
		refusal := "its certificate is refused: " + sys.Printable(why)
		switch {
		case !strings.Contains(why, "unknown authority"):
		case hasAuthority(c):
			refusal += ": that in ETCDCTL_CACERT is another one"
		default:
			refusal += ": set ETCDCTL_CACERT to the certificate of its authority"
		}
		return &cli.UsageError{Text: refusal}
	case strings.Contains(text, "looked like an HTTP/1.1 header"):
		return &cli.UsageError{Text: notForClients}
	}
	usesTLS := scheme == "https" || scheme == "" && c != nil
	switch speaksTLS, refusal := tryTLS(ctx, address, c); {
	case speaksTLS && !usesTLS:
		change := "it speaks TLS: write its address with https://"
		if !hasAuthority(c) {
			change += ", and set ETCDCTL_CACERT to the certificate of its authority"
		}
		return &cli.UsageError{Text: change}
	case speaksTLS && refusal != "" && (c == nil || c.GetClientCertificate == nil):
		return &cli.UsageError{Text: "it wants a certificate of this client: set ETCDCTL_CERT and ETCDCTL_KEY: " + refusal}
	case speaksTLS && refusal != "":
		return &cli.UsageError{Text: "it refuses the certificate of this client, in ETCDCTL_CERT and ETCDCTL_KEY: " + refusal}
	case !speaksTLS && usesTLS && speaksPlain(ctx, address):
		return &cli.UsageError{Text: "it does not speak TLS: write its address with http://"}
	}
	return err
}

func hasAuthority(c *tls.Config) bool { return c != nil && c.RootCAs != nil }

// probeLimit is for one connection that is only to find something out.
const probeLimit = 2 * time.Second

func probe(ctx context.Context, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: probeLimit}
	conn, err := d.DialContext(ctx, "tcp", strings.TrimSuffix(address, "/"))
	if err == nil {
		conn.SetDeadline(time.Now().Add(probeLimit))
	}
	return conn, err
}

// tryTLS reports whether a server speaks TLS, and why it refuses the certificate of the client; empty: it does not.
func tryTLS(ctx context.Context, address string, c *tls.Config) (speaks bool, refusal string) {
	conn, err := probe(ctx, address)
	if err != nil {
		return false, ""
	}
	defer conn.Close()
	if c == nil {
		c = &tls.Config{}
	}
	c = c.Clone()
	c.InsecureSkipVerify, c.NextProtos = true, []string{"h2"}
	client := tls.Client(conn, c)
	if err = client.Handshake(); err == nil {
		speaks = true
		_, err = client.Read(make([]byte, 1)) // since TLS 1.3 a server refuses a certificate after the handshake
	}
	if err != nil {
		if _, why, found := strings.Cut(err.Error(), "remote error: tls: "); found {
			return true, why
		}
	}
	return speaks, ""
}

// speaksPlain reports whether a server speaks HTTP/2 without TLS: it then begins with a frame of settings, of type 4.
func speaksPlain(ctx context.Context, address string) bool {
	conn, err := probe(ctx, address)
	if err != nil {
		return false
	}
	defer conn.Close()
	io.WriteString(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")
	header := make([]byte, 9)
	_, err = io.ReadFull(conn, header)
	return err == nil && header[3] == 4
}

// misconfigured returns an error if no member can ever be connected with these variables.
func (s *store) misconfigured() error {
	text := ""
	for _, m := range s.members {
		m.mu.Lock()
		var why *cli.UsageError
		found := errors.As(m.err, &why)
		m.mu.Unlock()
		if !found {
			return nil
		}
		text = "cannot connect to etcd at " + sys.Printable(m.endpoint) + ": " + why.Text
	}
	return &cli.UsageError{Text: text}
}
