package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.org/flock/fleet/lease"
)

func read(t *testing.T, env map[string]string) (config, string) {
	t.Helper()
	var environ []string
	for name, value := range env {
		environ = append(environ, name+"="+value)
	}
	c, err := readConfig(environ)
	if err != nil {
		return c, err.Error()
	}
	return c, ""
}

func TestConfigDefaults(t *testing.T) {
	c, failure := read(t, nil)
	if failure != "" || len(c.endpoints) != 1 || c.endpoints[0] != "127.0.0.1:2379" || c.prefix != "/flock" ||
		c.ttl != 10 || c.reach != 5*time.Second || c.connection.TLS != nil || c.user != "" {
		t.Errorf("%+v %s", c, failure)
	}
}

func TestConfig(t *testing.T) {
	c, failure := read(t, map[string]string{
		"ETCDCTL_ENDPOINTS": "https://a:1, b:2,,http://c:3", "ETCDCTL_DIAL_TIMEOUT": "300ms", "ETCDCTL_USER": "me:a:b",
		"ETCDCTL_PASSWORD": "other", "FLOCK_ETCD_PREFIX": "/fleet//", "FLOCK_ETCD_TTL": "2",
	})
	if failure != "" || strings.Join(c.endpoints, " ") != "https://a:1 b:2 http://c:3" ||
		c.reach != 300*time.Millisecond || c.user != "me" || c.password != "a:b" || c.prefix != "/fleet" || c.ttl != 2 {
		t.Errorf("%+v %s", c, failure)
	}
	if got := c.addresses(); got != "https://a:1,b:2,http://c:3" {
		t.Errorf("addresses: %s", got)
	}
}

func TestConfigTLS(t *testing.T) {
	for _, c := range []struct {
		env       map[string]string
		tls, skip bool
	}{
		{map[string]string{"ETCDCTL_API": "3", "ETCDCTL_WRITE_OUT": "json", "ETCDCTL_COMMAND_TIMEOUT": "5s"},
			false, false},
		{map[string]string{"ETCDCTL_INSECURE_SKIP_TLS_VERIFY": "true"}, true, true},
		{map[string]string{"ETCDCTL_INSECURE_TRANSPORT": "false"}, true, false},
		{map[string]string{"ETCDCTL_INSECURE_TRANSPORT": "true"}, false, false},
	} {
		got, failure := read(t, c.env)
		if failure != "" || (got.connection.TLS != nil) != c.tls ||
			c.tls && got.connection.TLS.InsecureSkipVerify != c.skip {
			t.Errorf("%v: %+v %s", c.env, got.connection.TLS, failure)
		}
	}
}

func TestPasswordFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	env := map[string]string{"ETCDCTL_USER": "me", "FLOCK_ETCD_PASSWORD_FILE": file}
	for _, c := range []struct {
		text     string
		mode     os.FileMode
		password string // empty: it is refused
	}{{"a:b c\n", 0o600, "a:b c"}, {"secret", 0o400, "secret"}, {"secret\n", 0o604, ""}, {"\n", 0o600, ""}} {
		os.Remove(file)
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, c.mode); err != nil {
			t.Fatal(err)
		}
		got, failure := read(t, env)
		if (failure == "") != (c.password != "") || failure == "" && got.password != c.password ||
			strings.Contains(failure, "secret") {
			t.Errorf("%q with mode %o: %q, %q", c.text, c.mode, got.password, failure)
		}
	}
	t.Run("of a group", func(t *testing.T) { // as root gives it to one in Kubernetes or systemd
		if err := errors.Join(os.WriteFile(file, []byte("secret"), 0o600), os.Chmod(file, 0o440)); err != nil {
			t.Fatal(err)
		}
		if got, failure := read(t, env); (failure == "") != (os.Geteuid() == 0) ||
			failure == "" && got.password != "secret" {
			t.Errorf("%q %q", got.password, failure)
		}
	})
	t.Run("another user's", func(t *testing.T) {
		if os.Geteuid() != 0 {
			t.Skip("only root can give a file to another user")
		}
		if err := errors.Join(os.WriteFile(file, []byte("secret"), 0o600), os.Chown(file, 65534, 65534)); err != nil {
			t.Fatal(err)
		}
		if _, failure := read(t, env); !strings.Contains(failure, "belongs to another user") {
			t.Error(failure)
		}
	})
}

// A password that also is in a variable does not reach the command.
func TestHiddenPassword(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("fromfile"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("ETCDCTL_USER", "me:secret")
	t.Setenv("ETCDCTL_PASSWORD", "secret")
	t.Setenv("FLOCK_ETCD_PASSWORD_FILE", file)
	c, err := readConfig(os.Environ())
	if err != nil || c.password != "fromfile" {
		t.Fatalf("%q, %v", c.password, err)
	}
	c.hidePassword()
	if all := strings.Join(os.Environ(), "\n"); strings.Contains(all, "secret") ||
		!strings.Contains(all, "ETCDCTL_USER=me\n") {
		t.Error(all)
	}
}

// A password that leaves the machine without encryption is worth a warning.
func TestExposed(t *testing.T) {
	for endpoints, want := range map[string]string{
		"127.0.0.1:1,localhost:2,http://[::1]:3,https://etcd1:4,unix:///x": "",
		"127.0.0.1:1,etcd2:2":        "etcd2:2",
		"http://192.0.2.1:2379":      "http://192.0.2.1:2379",
		"http://127.evil.example:1":  "http://127.evil.example:1",
		"http://localhost.example:1": "http://localhost.example:1",
	} {
		c, failure := read(t, map[string]string{"ETCDCTL_ENDPOINTS": endpoints, "ETCDCTL_USER": "me:x"})
		if failure != "" || c.exposedAddress() != want {
			t.Errorf("%s: %q %q", endpoints, c.exposedAddress(), failure)
		}
		c, _ = read(t, map[string]string{
			"ETCDCTL_ENDPOINTS": endpoints, "ETCDCTL_USER": "me:x", "FLOCK_ETCD_WARNINGS": "false",
		})
		if at := c.exposedAddress(); at != "" {
			t.Errorf("%s: %q, which nobody wants to know", endpoints, at)
		}
	}
}

// A wrong value is refused with the name of its variable, and no secret is repeated.
func TestConfigRefused(t *testing.T) {
	for _, env := range []map[string]string{
		{"ETCDCTL_ENDPOINTS": ","},
		{"ETCDCTL_ENDPOINTS": "a:1,root:secret@b:2"},
		{"ETCDCTL_DIAL_TIMEOUT": "2"},
		{"ETCDCTL_DIAL_TIMEOUT": "-2s"},
		{"FLOCK_ETCD_TTL": "1"},
		{"FLOCK_ETCD_TTL": "86401"},
		{"FLOCK_ETCD_TTL": "10s"},
		{"FLOCK_ETCD_WARNINGS": "none"},
		{"ETCDCTL_USER": "me"},
		{"ETCDCTL_CACERT": "/nonexistent"},
		{"ETCDCTL_CERT": "/nonexistent", "ETCDCTL_KEY": "/nonexistent", "ETCDCTL_PASSWORD": "secret"},
		{"ETCDCTL_CERT": "/nonexistent"},
		{"ETCDCTL_ENDPOINTS": "etcd1"},
		{"ETCDCTL_ENDPOINTS": "https://etcd1"},
		{"ETCDCTL_ENDPOINTS": "etcd1:2379;etcd2:2379"},
		{"ETCDCTL_ENDPOINTS": "etcd1:2379 etcd2:2379"},
		{"ETCDCTL_ENDPOINTS": "etcd1:http"},
		{"ETCDCTL_ENDPOINTS": "ftp://etcd1:2379"},
		{"ETCDCTL_ENDPOINTS": "unix:"},
		{"ETCDCTL_ENDPOINTS": "unix:/"},
		{"ETCDCTL_ENDPOINTS": "unixs://"},
		{"ETCDCTL_ENDPOINTS": "unix:///"},
		{"ETCDCTL_INSECURE_SKIP_TLS_VERIFY": "maybe"},
		{"ETCDCTL_DISCOVERY_SRV": "example.org"},
		{"ETCDCTL_WATCH_KEY": "x"},
		{"ETCDCTL_ENDPOINT": "etcd1:2379"},
		{"FLOCK_ETCD_PASWORD_FILE": "/nonexistent"},
		{"ETCDCTL_AUTH_JWT_TOKEN": "secret", "ETCDCTL_USER": "me:secret"},
		{"ETCDCTL_PASSWORD": "secret"},
		{"ETCDCTL_USER": "me", "FLOCK_ETCD_PASSWORD_FILE": "/nonexistent"},
		{"ETCDCTL_USER": "me:secret", "FLOCK_ETCD_PASSWORD_FILE": "/nonexistent"},
	} {
		_, failure := read(t, env)
		named := false
		for name := range env {
			named = named || strings.Contains(failure, name)
		}
		if !named || strings.Contains(failure, "secret") {
			t.Errorf("%v: %q", env, failure)
		}
	}
}

// No lock lies within another, and none beside the prefix.
func TestKeys(t *testing.T) {
	c, _ := read(t, nil)
	seen := map[string]string{}
	for _, name := range []string{"a", "a/line", "/a", "/a/", "/a/line/x", "a%2Fb", "/a/b", "a b", "é", "a\nb"} {
		base := newStore(c, &lease.Link{}).base(name)
		for other, its := range seen {
			if strings.HasPrefix(base, its) || strings.HasPrefix(its, base) {
				t.Errorf("%q and %q: %q, %q", name, other, base, its)
			}
		}
		if !strings.HasPrefix(base, "/flock/") || strings.Count(base, "/") != 3 {
			t.Errorf("%q: %q", name, base)
		}
		seen[name] = base
	}
}
