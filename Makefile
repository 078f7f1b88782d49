# What is done here each day: `make help` lists it. fleet/fleet.mk and compat_test/tests.mk have the rest, which
# `make help-all` lists, too.

PREFIX  = /usr/local
BINDIR  = $(PREFIX)/bin
DATADIR = $(PREFIX)/share
MAN1DIR = $(DATADIR)/man/man1
MAN7DIR = $(DATADIR)/man/man7
BASHDIR = $(DATADIR)/bash-completion/completions
ZSHDIR  = $(DATADIR)/zsh/site-functions
FISHDIR = $(DATADIR)/fish/vendor_completions.d

VERSION := $(shell packaging/version.sh)
# The tag needs -checklinkname=0: internal/cstart explains both. -E names the entry
# point of the run without the Go runtime: see internal/early. PLAIN=1 uses none of them.
ENTRY = $$(case $$(go env GOOS)/$$(go env GOARCH) in \
	(linux/amd64|linux/arm64) echo -E flock_entry;; esac)
GOBUILD = CGO_ENABLED=0 go build -trimpath -buildvcs=false $(if $(PLAIN),,-tags flock_linkname) \
	-ldflags "-s -w $(if $(PLAIN),,-checklinkname=0 $(ENTRY)) -X main.version=$(VERSION)"
# It checks a program that a new release of Go has built: see doc/go.md. FORCE=1 takes the program as it is.
CHECK = $(if $(PLAIN)$(FORCE),:,sh internal/early/known.sh)

SYSTEMS = \
	linux/amd64 linux/arm64 linux/arm linux/386 linux/riscv64 linux/ppc64le \
	linux/s390x linux/loong64 linux/mips64le android/arm64 \
	darwin/amd64 darwin/arm64 freebsd/amd64 freebsd/arm64 openbsd/amd64 \
	openbsd/arm64 netbsd/amd64 netbsd/arm64 dragonfly/amd64 illumos/amd64 \
	windows/amd64 windows/arm64

all: flock                    ## build the one static binary, ./flock

sources = $(filter-out %_test.go,$(wildcard $(1)))

flock: $(call sources,*.go fallback/*.go fallback/*/*.go internal/*/*) go.mod go.sum build/version
	$(GOBUILD) -o $@ .
	@$(CHECK) ./$@

# Both manuals are one text, with differences.
PAGES = fleet/etcd/man/flock-etcd.1 fleet/postgres/man/flock-postgres.1

$(PAGES): fleet/man/page.sh fleet/man/flock-backend.1.in
	@mkdir -p $(@D)
	sh fleet/man/page.sh $(@:fleet/%/man/$(@F)=%) >$@

# The version is in the programs, and a commit changes it: this file changes with it and with PLAIN, and not otherwise.
build/version: always
	@mkdir -p build
	@echo '$(VERSION) $(PLAIN)' | cmp -s - $@ || echo '$(VERSION) $(PLAIN)' >$@

# A program that does not pass its check is not left as one that is built.
.DELETE_ON_ERROR:

demo: flock                   ## build, and show the main uses
	sh compat_test/demo.sh ./flock

# How long the tests of one package may take, on a busy machine, too.
TIMEOUT = 30m

PACKAGES = $$(go list ./... | grep -v /compat_test)

quick:                        ## gofmt, vet and the tests of the packages (seconds)
	@test -z "$$(gofmt -l .)" || { gofmt -d .; exit 1; }
	go vet ./...
	go test -short -timeout $(TIMEOUT) -count=1 $(PACKAGES)

check: flock                  ## what to run after each change: every case in one mode (a minute)
	@test -z "$$(gofmt -l .)" || { gofmt -d .; exit 1; }
	go vet ./...
	sh compat_test/run.sh go test -timeout $(TIMEOUT) -short -count=1 ./...

test: flock $(PAGES)          ## run the tests: every case in every mode where its answer can differ, and under the installed flock (two to three minutes)
	@sh compat_test/run.sh $(MAKE) --no-print-directory -j2 test-go test-beside

# go test prints the table of tests that pass only for the directory in which it is.
compat: flock                 ## compare with util-linux flock, script by script
	@cd compat_test && FLOCK_TEST_LONG=1 sh run.sh go test -count=1 -timeout $(TIMEOUT) -names \
		-run 'TestTranscripts|TestEarly$$|TestNative|TestDirectory|TestAbsent'

record: flock                 ## record the installed util-linux's answers to the cases that have none (RECORD=all: to all)
	go test ./compat_test -count=1 -timeout $(TIMEOUT) -record $(or $(RECORD),new)

binaries:                     ## build for every system, or those in SYSTEMS='OS/ARCH ...', into build/OS_ARCH
	@for system in $(SYSTEMS); do \
		export GOOS=$${system%/*} GOARCH=$${system#*/}; \
		dir=build/$${GOOS}_$$GOARCH exe=; [ $$GOOS != windows ] || exe=.exe; echo $$dir; \
		$(GOBUILD) -o $$dir/flock$$exe . && $(CHECK) $$dir/flock$$exe || exit 1; \
		case " $(UNIX_SYSTEMS) " in *" $$system "*) ($(ETCDBUILD) -o ../../$$dir/flock-etcd .) && \
			($(POSTGRESBUILD) -o ../../$$dir/flock-postgres .) || exit 1;; esac; \
	done

cross: binaries               ## the same, and vet for each of them
	@for system in $(SYSTEMS); do \
		export GOOS=$${system%/*} GOARCH=$${system#*/}; echo go vet for $$system; \
		go vet ./... && go vet -tags flock_linkname ./... || exit 1; \
		case " $(UNIX_SYSTEMS) " in *" $$system "*) (cd fleet/etcd && go vet ./...) && (cd fleet/postgres && go vet ./...) || exit 1;; esac; \
	done

# They install what is built: root needs no Go for it.
install:                      ## install the built binary, manual pages and completions (DESTDIR, PREFIX)
install-etcd:                 ## install flock-etcd in the same way
install-postgres:             ## and flock-postgres
install install-etcd install-postgres: PROGRAM = $(@:install%=flock%)
install install-etcd install-postgres:
	@test -x $(PROGRAM) || { echo "$(PROGRAM) is not built yet: run 'make $(PROGRAM)' first, as an ordinary user" >&2; exit 1; }
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(MAN1DIR) $(DESTDIR)$(MAN7DIR) $(DESTDIR)$(BASHDIR) $(DESTDIR)$(ZSHDIR) $(DESTDIR)$(FISHDIR)
	install -m 755 $(PROGRAM) $(DESTDIR)$(BINDIR)/$(PROGRAM)
	install -m 644 $(wildcard man/$(PROGRAM).1 fleet/*/man/$(PROGRAM).1) $(DESTDIR)$(MAN1DIR)/$(PROGRAM).1
	$(if $(filter flock,$(PROGRAM)),install -m 644 man/flock-directory.7 $(DESTDIR)$(MAN7DIR)/flock-directory.7)
	install -m 644 completions/flock.bash $(DESTDIR)$(BASHDIR)/$(PROGRAM)
	install -m 644 completions/_flock $(DESTDIR)$(ZSHDIR)/_$(PROGRAM)
	install -m 644 completions/flock.fish $(DESTDIR)$(FISHDIR)/$(PROGRAM).fish

uninstall:                    ## remove what install, install-etcd and install-postgres put there
	for program in flock flock-etcd flock-postgres; do rm -f $(DESTDIR)$(BINDIR)/$$program $(DESTDIR)$(MAN1DIR)/$$program.1 \
		$(DESTDIR)$(BASHDIR)/$$program $(DESTDIR)$(ZSHDIR)/_$$program $(DESTDIR)$(FISHDIR)/$$program.fish; done
	rm -f $(DESTDIR)$(MAN7DIR)/flock-directory.7

dist: $(PAGES)                ## tarballs, packages, source and SHA256SUMS, into dist (a quarter of an hour; SYSTEMS as for binaries)
	@missing=; for program in go zip dpkg-deb md5sum sha1sum sha256sum; do \
		command -v $$program >/dev/null || missing="$$missing $$program"; done; \
		$${TAR:-tar} --version 2>/dev/null | grep -q GNU || missing="$$missing GNU-tar(TAR=gtar)"; \
		[ -z "$$missing" ] || { echo "make dist needs, and cannot find:$$missing" >&2; exit 1; }
	$(MAKE) --no-print-directory binaries
	rm -rf dist
	packaging/dist.sh flock $(VERSION) build dist $(SYSTEMS)
	for program in flock-etcd flock-postgres; do packaging/dist.sh $$program $(VERSION) build dist $(UNIX_SYSTEMS) || exit 1; done
	packaging/source.sh $(VERSION) dist
	for system in $(filter linux/amd64 linux/arm64,$(SYSTEMS)); do arch=$${system#*/}; \
		for package in flock-go flock-etcd flock-postgres; do binary=build/linux_$$arch/$${package%-go}; \
		packaging/deb.sh $$package $(VERSION) $$arch $$binary dist && \
		packaging/apk.sh $$package $(VERSION) $$arch $$binary dist || exit 1; done; done
	umask 022 && mkdir -p build && cd dist && sha256sum * >../build/SHA256SUMS && mv ../build/SHA256SUMS .

clean:                        ## remove what was built
	rm -rf flock flock-etcd flock-postgres build dist $(dir $(PAGES))

help:                         ## print this list
	@$(call list,Makefile)

help-all:                     ## print all that make can do here: also the fleet and the long tests
	@$(call list,$(MAKEFILE_LIST))

list = sed -n 's/^\([a-z-]*\):.*\#\# /\1	/p' $(1) | expand -t 18

include fleet/fleet.mk compat_test/tests.mk

.PHONY: all always demo quick check test compat record binaries cross install install-etcd install-postgres uninstall \
	dist clean help help-all
