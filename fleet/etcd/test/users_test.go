//go:build linux

package test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/flock/fleet/etcd/test/cluster"
	"example.org/flock/fleet/lease/leasetest"
)

// jwtCluster has a member that gives tokens of the type jwt, which live for so long, and the user cron.
func jwtCluster(t *testing.T, life string) (*cluster.Cluster, leasetest.Environment) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	files := map[string]pem.Block{
		"private": {Type: "EC PRIVATE KEY", Bytes: private}, "public": {Type: "PUBLIC KEY", Bytes: public},
	}
	for name, block := range files {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(&block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := ownCluster(t, cluster.Options{Members: 1, Flags: []string{"--bcrypt-cost", "4",
		"--auth-token", "jwt,pub-key=" + dir + "/public,priv-key=" + dir + "/private,sign-method=ES256,ttl=" + life}})
	return c, secure(t, c)
}

// TestTokenIsRenewed has a holder whose token ends again and again. It asks for the next one.
func TestTokenIsRenewed(t *testing.T) {
	t.Parallel()
	c, e := jwtCluster(t, "5s")
	h := e.Hold(t, flockEtcd, "name")
	before := metrics(t, c, startedChecks)
	leasetest.Await(t, "two more checks of the password",
		func() bool { return metrics(t, c, startedChecks) >= before+2 })
	h.Release(t)
	if h.Err.String() != "" {
		t.Error(&h.Err)
	}
}

// TestForeignToken has a token from elsewhere that ends, because a user was made.
func TestForeignToken(t *testing.T) {
	t.Parallel()
	c, e := jwtCluster(t, "10m")
	r, err := c.Client().Authenticate(t.Context(), "cron", "geheim")
	if err != nil {
		t.Fatal(err)
	}
	e = append(reach(strings.Join(c.Endpoints(), ",")), "ETCDCTL_AUTH_JWT_TOKEN="+r.Token, "FLOCK_ETCD_TTL=5")
	e.Run(t, flockEtcd, "-n", "name", "echo", "in").Check(t, 0, "in\n", "")
	h := e.Hold(t, flockEtcd, "name")
	w := e.Queue(t, flockEtcd, "name")
	leasetest.Await(t, "the waiter", func() bool {
		return strings.Contains(e.Run(t, flockEtcd, "--holders", "name").Out.String(), "(waiting)")
	})
	root := reach(strings.Join(c.Endpoints(), ","), "ETCDCTL_USER=root:geheim")
	etcdctl, err := cluster.Program(cluster.Etcdctl)
	if err != nil {
		t.Fatal(err)
	}
	if p := root.Run(t, etcdctl, "user", "add", "bob:x"); p.Status != 0 {
		t.Fatalf("etcdctl: %s", &p.Err)
	}
	const refuses = "etcd refuses: etcdserver: revision of auth store is old"
	const says = "flock-etcd: " + refuses + "\nflock-etcd: " +
		"ETCDCTL_AUTH_JWT_TOKEN is not valid any more: get a new one after each change of users or roles\n"
	for _, words := range []string{"-n name true", "name true", "-w 30 name true", "--holders name"} {
		e.Run(t, append([]string{flockEtcd}, strings.Fields(words)...)...).Check(t, 66, "", says)
	}
	w.AwaitEnd(t).Check(t, 66, "", says)
	// It may be warned before that.
	if p := h.AwaitEnd(t); p.Status != 75 ||
		!strings.HasSuffix(p.Err.String(), "flock-etcd: lost the lock name: "+refuses+"; the command was killed\n") {
		t.Errorf("status %d, %s", p.Status, &p.Err)
	}
}
