//go:build linux

package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
)

// TLS is a certificate authority, and a certificate for servers and one for a client, as files.
type TLS struct {
	CA, ServerCert, ServerKey, ClientCert, ClientKey string
}

// NewTLS makes the files in a directory.
func NewTLS(dir string) (*TLS, error) {
	t := &TLS{}
	authority := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	key, err := t.make(dir, "ca", authority, authority, nil, &t.CA, new(string))
	if err != nil {
		return nil, err
	}
	var addresses []net.IP
	for i := range 3 {
		addresses = append(addresses, net.ParseIP(host(i)))
	}
	// The servers use their certificate as clients of themselves, too.
	both := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	server := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "server"},
		IPAddresses: append(addresses, net.IPv4(127, 0, 0, 1)),
		KeyUsage:    x509.KeyUsageDigitalSignature, ExtKeyUsage: both}
	if _, err = t.make(dir, "server", server, authority, key, &t.ServerCert, &t.ServerKey); err != nil {
		return nil, err
	}
	client := &x509.Certificate{SerialNumber: big.NewInt(3), Subject: pkix.Name{CommonName: "client"},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: both[1:]}
	_, err = t.make(dir, "client", client, authority, key, &t.ClientCert, &t.ClientKey)
	return t, err
}

// make makes a certificate that an authority signs with its key; nil: it signs itself.
func (t *TLS) make(dir, name string, c, parent *x509.Certificate, parentKey *ecdsa.PrivateKey,
	certFile, keyFile *string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	if parentKey == nil {
		parentKey = key
	}
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
	cert, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, parentKey)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	*certFile, *keyFile = filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")
	private := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	if err := os.WriteFile(*keyFile, private, 0o600); err != nil {
		return nil, err
	}
	return key, os.WriteFile(*certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), 0o644)
}

// Config is for a client.
func (t *TLS) Config() (*tls.Config, error) {
	return transport.TLSInfo{CertFile: t.ClientCert, KeyFile: t.ClientKey, TrustedCAFile: t.CA}.ClientConfig()
}
