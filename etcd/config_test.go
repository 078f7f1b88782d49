//go:build unix

package main

import (
	"strings"
	"testing"
	"time"
)

func read(t *testing.T, env map[string]string) (config, string) {
	t.Helper()
	c, err := readConfig(func(name string) string { return env[name] })
	if err != nil {
		return c, err.Error()
	}
	return c, ""
}

func TestConfigDefaults(t *testing.T) {
	c, failure := read(t, nil)
	if failure != "" || len(c.endpoints) != 1 || c.endpoints[0] != "127.0.0.1:2379" || c.prefix != "/flock" || c.ttl != 10 ||
		c.reach != 5*time.Second || c.tls != nil || c.user != "" {
		t.Errorf("%+v %s", c, failure)
	}
}

func TestConfig(t *testing.T) {
	c, failure := read(t, map[string]string{
		"ETCDCTL_ENDPOINTS": "https://a:1, b:2,,http://c:3", "ETCDCTL_DIAL_TIMEOUT": "300ms", "ETCDCTL_USER": "me:a:b",
		"ETCDCTL_PASSWORD": "other", "FLOCK_ETCD_PREFIX": "/fleet//", "FLOCK_ETCD_TTL": "2",
	})
	if failure != "" || strings.Join(c.endpoints, " ") != "https://a:1 b:2 http://c:3" || c.reach != 300*time.Millisecond ||
		c.user != "me" || c.password != "a:b" || c.prefix != "/fleet" || c.ttl != 2 {
		t.Errorf("%+v %s", c, failure)
	}
	if got := c.addresses(); got != "https://a:1,b:2,http://c:3" {
		t.Errorf("addresses: %s", got)
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
		{"ETCDCTL_USER": "me"},
		{"ETCDCTL_CACERT": "/nonexistent"},
		{"ETCDCTL_CERT": "/nonexistent", "ETCDCTL_KEY": "/nonexistent", "ETCDCTL_PASSWORD": "secret"},
		{"ETCDCTL_CERT": "/nonexistent"},
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
		s := newStore(c, name)
		for other, line := range seen {
			if strings.HasPrefix(s.line, line) || strings.HasPrefix(line, s.line) {
				t.Errorf("%q and %q: %q, %q", name, other, s.line, line)
			}
		}
		if !strings.HasPrefix(s.line, "/flock/") || strings.Count(s.line, "/") != 4 {
			t.Errorf("%q: %q", name, s.line)
		}
		seen[name] = s.line
	}
}
