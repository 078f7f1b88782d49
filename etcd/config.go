//go:build unix

package main

import (
	"crypto/tls"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"

	"example.org/flock/internal/cli"
	"example.org/flock/internal/sys"
)

// A config is what the environment says about etcd.
type config struct {
	endpoints      []string
	tls            *tls.Config // nil: plain text, but for endpoints that begin with https://
	user, password string
	jwt            string        // a token that the user has got elsewhere
	reach          time.Duration // how long to try to reach etcd at the beginning
	prefix         string        // of all keys
	ttl            int64         // of a holder's lease, in seconds

	keepAliveTime, keepAliveTimeout time.Duration // to find connections that are frozen or cut

	idle []string // the variables that have no effect
}

// The variables of etcdctl that mean something here, those that are only for its output or the size of its messages, and why
// others are refused. Own are those that begin with FLOCK_ETCD_.
var (
	own      = []string{"PASSWORD_FILE", "PREFIX", "TTL"}
	accepted = []string{"ENDPOINTS", "CACERT", "CERT", "KEY", "USER", "PASSWORD", "AUTH_JWT_TOKEN", "DIAL_TIMEOUT",
		"KEEPALIVE_TIME", "KEEPALIVE_TIMEOUT", "INSECURE_TRANSPORT", "INSECURE_SKIP_TLS_VERIFY"}
	idle    = []string{"DEBUG", "HEX", "WRITE_OUT", "INSECURE_DISCOVERY", "MAX_REQUEST_BYTES", "MAX_RECV_BYTES"}
	refused = map[string]string{
		"COMMAND_TIMEOUT":    "the option -w limits the wait",
		"DISCOVERY_SRV":      "name the members in ETCDCTL_ENDPOINTS",
		"DISCOVERY_SRV_NAME": "name the members in ETCDCTL_ENDPOINTS",
		"WATCH_KEY":          "it is for etcdctl watch",
		"WATCH_RANGE_END":    "it is for etcdctl watch",
	}
)

// An environment reads variables. One that is empty counts as unset.
type environment struct {
	variables map[string]string
	err       error // what is wrong with the first of those that are invalid
}

func (e *environment) get(name, unset string) string {
	if value := e.variables[name]; value != "" {
		return value
	}
	return unset
}

func (e *environment) refuse(text string) {
	if e.err == nil {
		e.err = &cli.UsageError{Text: text}
	}
}

func (e *environment) invalid(name, why string) {
	e.refuse("invalid " + name + ": '" + sys.Printable(e.variables[name]) + "' (" + why + ")")
}

func (e *environment) duration(name, unset string) time.Duration {
	d, err := time.ParseDuration(e.get(name, unset))
	if err != nil || d <= 0 {
		e.invalid(name, "a number with its unit, such as 2s")
	}
	return d
}

func (e *environment) boolean(name, unset string) bool {
	b, err := strconv.ParseBool(e.get(name, unset))
	if err != nil {
		e.invalid(name, "true or false")
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
	c.idle = e.sift()
	c.endpoints = e.endpoints()
	c.reach = e.duration("ETCDCTL_DIAL_TIMEOUT", "5s")
	c.keepAliveTime = e.duration("ETCDCTL_KEEPALIVE_TIME", "10s")
	c.keepAliveTimeout = e.duration("ETCDCTL_KEEPALIVE_TIMEOUT", "20s")
	if c.ttl, err = strconv.ParseInt(e.get("FLOCK_ETCD_TTL", "10"), 10, 64); err != nil || c.ttl < 2 || c.ttl > 86400 {
		e.invalid("FLOCK_ETCD_TTL", "seconds, from 2 to 86400")
	}
	c.prefix = strings.TrimRight(e.get("FLOCK_ETCD_PREFIX", "/flock"), "/")
	c.jwt = e.get("ETCDCTL_AUTH_JWT_TOKEN", "")
	c.user, c.password = e.user()
	c.tls = e.tls()
	return c, e.err
}

// sift refuses variables of etcdctl that would be missed, and those that it does not have. It returns those that are not
// missed.
func (e *environment) sift() (without []string) {
	for variable, value := range e.variables {
		if ours, found := strings.CutPrefix(variable, "FLOCK_ETCD_"); found && value != "" && !slices.Contains(own, ours) {
			e.refuse("there is no variable " + sys.Printable(variable))
		}
		name, found := strings.CutPrefix(variable, "ETCDCTL_")
		switch {
		case !found || value == "" || slices.Contains(accepted, name):
		case slices.Contains(idle, name):
			without = append(without, variable)
		case name == "API":
			if value != "3" {
				e.invalid(variable, "only 3 is supported")
			}
		case refused[name] != "":
			e.refuse(variable + " is not supported: " + refused[name])
		default:
			e.refuse("there is no variable " + sys.Printable(variable))
		}
	}
	slices.Sort(without)
	return without
}

func (e *environment) endpoints() (list []string) {
	for _, endpoint := range strings.Split(e.get("ETCDCTL_ENDPOINTS", "127.0.0.1:2379"), ",") {
		if endpoint = strings.TrimSpace(endpoint); endpoint == "" {
			continue
		}
		if strings.Contains(endpoint, "@") {
			e.refuse("invalid ETCDCTL_ENDPOINTS: an address has an @ (users go into ETCDCTL_USER)")
		} else if why := endpointError(endpoint); why != "" {
			e.refuse("invalid address in ETCDCTL_ENDPOINTS: '" + sys.Printable(endpoint) + "' (" + why + ")")
		}
		list = append(list, endpoint)
	}
	if len(list) == 0 {
		e.invalid("ETCDCTL_ENDPOINTS", "the addresses of etcd's members, with commas between")
	}
	return list
}

func (e *environment) user() (name, password string) {
	name, password, given := strings.Cut(e.get("ETCDCTL_USER", ""), ":")
	if !given {
		password = e.get("ETCDCTL_PASSWORD", "")
	}
	if file := e.get("FLOCK_ETCD_PASSWORD_FILE", ""); file != "" {
		var err error
		if password != "" {
			e.refuse("FLOCK_ETCD_PASSWORD_FILE cannot be combined with a password in ETCDCTL_USER or ETCDCTL_PASSWORD")
		} else if password, err = readPassword(file); err != nil {
			e.invalid("FLOCK_ETCD_PASSWORD_FILE", sys.Text(err))
		}
	}
	switch {
	case name != "" && password == "":
		e.refuse("ETCDCTL_USER needs a password: ETCDCTL_PASSWORD, FLOCK_ETCD_PASSWORD_FILE, or after a colon")
	case name == "" && password != "":
		e.refuse("ETCDCTL_PASSWORD and FLOCK_ETCD_PASSWORD_FILE need ETCDCTL_USER")
	case name != "" && e.get("ETCDCTL_AUTH_JWT_TOKEN", "") != "":
		e.refuse("ETCDCTL_AUTH_JWT_TOKEN cannot be combined with ETCDCTL_USER")
	}
	return name, password
}

func (e *environment) tls() (c *tls.Config) {
	files := transport.TLSInfo{CertFile: e.get("ETCDCTL_CERT", ""), KeyFile: e.get("ETCDCTL_KEY", ""),
		TrustedCAFile: e.get("ETCDCTL_CACERT", "")}
	skip, plain := e.boolean("ETCDCTL_INSECURE_SKIP_TLS_VERIFY", "false"), e.boolean("ETCDCTL_INSECURE_TRANSPORT", "true")
	if (files.CertFile == "") != (files.KeyFile == "") {
		e.refuse("ETCDCTL_CERT and ETCDCTL_KEY go together: set both")
		return nil
	}
	if !files.Empty() || files.TrustedCAFile != "" {
		var err error
		if c, err = files.ClientConfig(); err != nil {
			e.refuse("invalid ETCDCTL_CACERT, ETCDCTL_CERT or ETCDCTL_KEY: " + err.Error())
			return nil
		}
	} else if skip || !plain {
		c = &tls.Config{}
	}
	if c != nil {
		c.InsecureSkipVerify = skip
	}
	return c
}

// endpointError says what is wrong with an address; empty: nothing.
func endpointError(endpoint string) string {
	scheme, address, found := strings.Cut(endpoint, "://")
	kind, path, _ := strings.Cut(endpoint, ":")
	isSocket := kind == "unix" || kind == "unixs"
	switch {
	case strings.ContainsAny(endpoint, " \t\n;|"):
		return "there are commas between addresses"
	case isSocket && strings.Trim(path, "/") == "":
		return "the path of the socket is missing"
	case isSocket:
		return ""
	case !found:
		address = endpoint
	case scheme != "http" && scheme != "https":
		return "an address begins with http:// or https://, or with neither"
	}
	host, port, err := net.SplitHostPort(strings.TrimSuffix(address, "/"))
	if n, failure := strconv.Atoi(port); err == nil && failure == nil && n > 0 && n < 1<<16 && host != "" {
		return ""
	}
	return "an address is a host, a colon and the number of a port, and there are commas between addresses: etcd1:2379,etcd2:2379"
}

// readPassword reads a file that nobody else may read. A line end is not part of the password. A FIFO that nobody writes to
// is empty.
func readPassword(name string) (string, error) {
	const longest = 4096
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if owner := info.Sys().(*syscall.Stat_t).Uid; owner != 0 && int(owner) != os.Geteuid() {
		return "", &cli.UsageError{Text: "it is another user's"}
	}
	if info.Mode()&0o077 != 0 {
		return "", &cli.UsageError{Text: "others may use the file: chmod 600 it"}
	}
	text, err := io.ReadAll(io.LimitReader(f, longest+1))
	if len(text) > longest {
		return "", &cli.UsageError{Text: "it is longer than 4096 bytes"}
	}
	if password := strings.TrimRight(string(text), "\r\n"); password != "" || err != nil {
		return password, err
	}
	return "", &cli.UsageError{Text: "it is empty"}
}

// addresses returns the endpoints for messages.
func (c *config) addresses() string { return sys.Printable(strings.Join(c.endpoints, ",")) }
