package main

import (
	"cmp"
	"errors"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"example.org/flock/fleet/lease"
	"example.org/flock/internal/sys"
)

// A config is what the environment says about etcd.
type config struct {
	connection     clientv3.Config
	endpoints      []string
	user, password string
	jwt            string        // a token that the user has got elsewhere
	reach          time.Duration // how long to try to reach etcd at the beginning
	prefix         string        // of all keys
	ttl            int64         // of a holder's lease, in seconds
	warns          bool          // of what is dangerous beside the lock
}

// known are the variables that mean something here or, the last ones of etcdctl, are only for its output, the size of
// its messages, its own requests or a version that is no more.
var known = strings.Fields(`FLOCK_ETCD_PASSWORD_FILE FLOCK_ETCD_PREFIX FLOCK_ETCD_TTL FLOCK_ETCD_WARNINGS
	ETCDCTL_ENDPOINTS ETCDCTL_CACERT ETCDCTL_CERT ETCDCTL_KEY ETCDCTL_USER ETCDCTL_PASSWORD ETCDCTL_AUTH_JWT_TOKEN
	ETCDCTL_DIAL_TIMEOUT ETCDCTL_KEEPALIVE_TIME ETCDCTL_KEEPALIVE_TIMEOUT ETCDCTL_INSECURE_TRANSPORT
	ETCDCTL_INSECURE_SKIP_TLS_VERIFY ETCDCTL_DEBUG ETCDCTL_HEX ETCDCTL_WRITE_OUT ETCDCTL_INSECURE_DISCOVERY
	ETCDCTL_MAX_REQUEST_BYTES ETCDCTL_MAX_RECV_BYTES ETCDCTL_COMMAND_TIMEOUT ETCDCTL_API`)

// An environment reads variables. One that is empty counts as unset.
type environment struct {
	variables map[string]string
	err       error // what is wrong with the first of those that are invalid
}

func (e *environment) get(name, unset string) string { return cmp.Or(e.variables[name], unset) }

// refuse does not repeat the value, which may be a secret.
func (e *environment) refuse(name, why string) {
	if e.err == nil {
		e.err = lease.Misused("invalid " + name + ": " + why)
	}
}

func (e *environment) duration(name, unset string) time.Duration {
	d, err := time.ParseDuration(e.get(name, unset))
	if err != nil || d <= 0 {
		e.refuse(name, "a number with its unit, such as 2s")
	}
	return d
}

func (e *environment) boolean(name, unset string) bool {
	b, err := strconv.ParseBool(e.get(name, unset))
	if err != nil {
		e.refuse(name, "true or false")
	}
	return b
}

// readConfig reads the variables of etcdctl, and our own. A secret does not appear in an error.
func readConfig(environ []string) (c config, err error) {
	e := &environment{variables: map[string]string{}}
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		e.variables[name] = value
	}
	for name, value := range e.variables {
		isOurs := strings.HasPrefix(name, "FLOCK_ETCD_") || strings.HasPrefix(name, "ETCDCTL_")
		if isOurs && value != "" && !slices.Contains(known, name) {
			e.refuse(sys.Printable(name), "this variable is not supported\nsee flock-etcd(1), ENVIRONMENT")
		}
	}
	c.endpoints = e.endpoints()
	c.reach = e.duration("ETCDCTL_DIAL_TIMEOUT", "5s")
	if c.ttl, err = strconv.ParseInt(e.get("FLOCK_ETCD_TTL", "10"), 10, 64); err != nil || c.ttl < 2 || c.ttl > 86400 {
		e.refuse("FLOCK_ETCD_TTL", "seconds, from 2 to 86400")
	}
	c.warns = e.boolean("FLOCK_ETCD_WARNINGS", "true")
	c.prefix = strings.TrimRight(e.get("FLOCK_ETCD_PREFIX", "/flock"), "/")
	c.jwt = e.get("ETCDCTL_AUTH_JWT_TOKEN", "")
	e.user(&c)
	e.connection(&c)
	return c, e.err
}

func (e *environment) endpoints() (list []string) {
	for endpoint := range strings.SplitSeq(e.get("ETCDCTL_ENDPOINTS", "127.0.0.1:2379"), ",") {
		if endpoint = strings.TrimSpace(endpoint); endpoint != "" {
			list = append(list, endpoint)
		}
	}
	if len(list) == 0 || slices.ContainsFunc(list, func(text string) bool { return !address.MatchString(text) }) {
		e.refuse("ETCDCTL_ENDPOINTS", "not a list of HOST:PORT, each perhaps after http:// or https://\n"+
			"put commas between the addresses: etcd1:2379,etcd2:2379")
	}
	return list
}

// address matches the address of a member; that of a socket in the file system has no host. local matches one of this
// machine that may be without TLS.
var (
	address = regexp.MustCompile(`^(https?://)?(\[[0-9A-Fa-f:.%]+\]|[^][\s:;|/@]+):[0-9]{1,5}/?$|^unixs?:/*[^/\s]`)
	local   = regexp.MustCompile(`^(http://)?(localhost|127\.[0-9.]+|\[::1\]):|^unix`)
)

// exposedAddress returns an address beyond this machine to which the password goes without encryption; empty: there is
// none, or nobody wants to know.
func (c *config) exposedAddress() string {
	for _, text := range c.endpoints {
		isPlain := strings.HasPrefix(text, "http://") || c.connection.TLS == nil && !strings.HasPrefix(text, "https://")
		if c.warns && c.user != "" && isPlain && !local.MatchString(text) {
			return sys.Printable(text)
		}
	}
	return ""
}

func (e *environment) user(c *config) {
	c.user, c.password, _ = strings.Cut(e.get("ETCDCTL_USER", ""), ":")
	c.password = cmp.Or(c.password, e.get("ETCDCTL_PASSWORD", ""))
	if file := e.get("FLOCK_ETCD_PASSWORD_FILE", ""); file != "" {
		var err error
		if c.password, err = readPassword(file); err != nil {
			e.refuse("FLOCK_ETCD_PASSWORD_FILE", err.Error())
		}
	}
	switch {
	case (c.user == "") != (c.password == ""):
		e.refuse("ETCDCTL_USER or ETCDCTL_PASSWORD", "one is set without the other\n"+
			"set both, or ETCDCTL_USER and FLOCK_ETCD_PASSWORD_FILE")
	case c.user != "" && c.jwt != "":
		e.refuse("ETCDCTL_AUTH_JWT_TOKEN", "it cannot be combined with ETCDCTL_USER")
	}
}

// hidePassword takes a password that is in a file as well from the variables that the command inherits.
func (c *config) hidePassword() {
	if os.Getenv("FLOCK_ETCD_PASSWORD_FILE") != "" {
		os.Unsetenv("ETCDCTL_PASSWORD")
		os.Setenv("ETCDCTL_USER", c.user)
	}
}

func (e *environment) connection(c *config) {
	quiet := zap.NewNop()
	connection, err := clientv3.NewClientConfig(&clientv3.ConfigSpec{
		Endpoints:        c.endpoints,
		KeepAliveTime:    e.duration("ETCDCTL_KEEPALIVE_TIME", "10s"),
		KeepAliveTimeout: e.duration("ETCDCTL_KEEPALIVE_TIMEOUT", "20s"),
		Secure: &clientv3.SecureConfig{
			Cert:               e.get("ETCDCTL_CERT", ""),
			Key:                e.get("ETCDCTL_KEY", ""),
			Cacert:             e.get("ETCDCTL_CACERT", ""),
			InsecureTransport:  e.boolean("ETCDCTL_INSECURE_TRANSPORT", "true"),
			InsecureSkipVerify: e.boolean("ETCDCTL_INSECURE_SKIP_TLS_VERIFY", "false"),
		},
	}, quiet)
	if err != nil {
		e.refuse("ETCDCTL_CACERT, ETCDCTL_CERT or ETCDCTL_KEY", err.Error())
		return
	}
	c.connection = *connection
	c.connection.Logger = quiet
}

// readPassword reads a file that nobody else may read, but for a group where root owns it. A line end is not part of
// the password.
func readPassword(name string) (string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return "", err
	}
	owner, others := info.Sys().(*syscall.Stat_t).Uid, os.FileMode(0o077)
	if owner == 0 {
		others = 0o037 // as Kubernetes and systemd give a secret to a group
	}
	if owner != 0 && int(owner) != os.Geteuid() {
		return "", errors.New("it belongs to another user")
	}
	if info.Mode()&others != 0 {
		return "", errors.New("other users can access the file\nchmod 600 it")
	}
	text, err := os.ReadFile(name)
	return strings.TrimRight(string(text), "\r\n"), err
}

// addresses returns the endpoints for messages.
func (c *config) addresses() string { return sys.Printable(strings.Join(c.endpoints, ",")) }
