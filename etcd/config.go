//go:build unix

package main

import (
	"crypto/tls"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"

	"example.org/flock/internal/cli"
	"example.org/flock/internal/sys"
)

// A config is what the environment says about etcd.
type config struct {
	endpoints                       []string
	tls                             *tls.Config // nil: plain text, but for endpoints that begin with https://
	user, password                  string
	reach                           time.Duration // how long to try to reach etcd at the beginning
	keepAliveTime, keepAliveTimeout time.Duration // to find connections that are frozen or cut
	prefix                          string        // of all keys
	ttl                             int64         // of a holder's lease, in seconds
}

// readConfig reads the variables of etcdctl, and our own. A secret does not appear in an error.
func readConfig(getenv func(string) string) (c config, err error) {
	get := func(name, unset string) string {
		if value := getenv(name); value != "" {
			return value
		}
		return unset
	}
	invalid := func(name, why string) (config, error) {
		return config{}, &cli.UsageError{Text: "invalid " + name + ": '" + sys.Printable(getenv(name)) + "' (" + why + ")"}
	}
	for _, endpoint := range strings.Split(get("ETCDCTL_ENDPOINTS", "127.0.0.1:2379"), ",") {
		if endpoint = strings.TrimSpace(endpoint); endpoint != "" {
			if strings.Contains(endpoint, "@") {
				return config{}, &cli.UsageError{Text: "invalid ETCDCTL_ENDPOINTS: an address has an @ (users go into ETCDCTL_USER)"}
			}
			c.endpoints = append(c.endpoints, endpoint)
		}
	}
	if len(c.endpoints) == 0 {
		return invalid("ETCDCTL_ENDPOINTS", "the addresses of etcd's members, with commas between")
	}
	if c.reach, err = time.ParseDuration(get("ETCDCTL_DIAL_TIMEOUT", "5s")); err != nil || c.reach <= 0 {
		return invalid("ETCDCTL_DIAL_TIMEOUT", "a number with its unit, such as 2s")
	}
	if c.ttl, err = strconv.ParseInt(get("FLOCK_ETCD_TTL", "10"), 10, 64); err != nil || c.ttl < 2 || c.ttl > 86400 {
		return invalid("FLOCK_ETCD_TTL", "seconds, from 2 to 86400")
	}
	c.keepAliveTime, c.keepAliveTimeout = 10*time.Second, 6*time.Second
	c.prefix = strings.TrimRight(get("FLOCK_ETCD_PREFIX", "/flock"), "/")
	var given bool
	if c.user, c.password, given = strings.Cut(getenv("ETCDCTL_USER"), ":"); !given {
		c.password = getenv("ETCDCTL_PASSWORD")
	}
	if c.user != "" && c.password == "" {
		return config{}, &cli.UsageError{Text: "ETCDCTL_USER needs a password: ETCDCTL_PASSWORD, or after a colon"}
	}
	files := transport.TLSInfo{CertFile: getenv("ETCDCTL_CERT"), KeyFile: getenv("ETCDCTL_KEY"), TrustedCAFile: getenv("ETCDCTL_CACERT")}
	if !files.Empty() || files.TrustedCAFile != "" {
		if c.tls, err = files.ClientConfig(); err != nil {
			return config{}, &cli.UsageError{Text: "invalid ETCDCTL_CACERT, ETCDCTL_CERT or ETCDCTL_KEY: " + err.Error()}
		}
	}
	return c, nil
}

// addresses returns the endpoints for messages.
func (c *config) addresses() string { return sys.Printable(strings.Join(c.endpoints, ",")) }
