# What a person can do here. `make help` prints the list.

PREFIX  = /usr/local
BINDIR  = $(PREFIX)/bin
DATADIR = $(PREFIX)/share

VERSION = $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
# The tag and -checklinkname=0 go together: runtime_linkname.go says why.
GOBUILD = CGO_ENABLED=0 go build -trimpath -buildvcs=false -tags flock_linkname \
	-ldflags '-s -w -checklinkname=0 -X main.version=$(VERSION)'

SYSTEMS = \
	linux/amd64 linux/arm64 linux/arm linux/386 linux/riscv64 linux/ppc64le \
	linux/s390x linux/loong64 linux/mips64le android/arm64 \
	darwin/amd64 darwin/arm64 freebsd/amd64 freebsd/arm64 openbsd/amd64 \
	openbsd/arm64 netbsd/amd64 netbsd/arm64 dragonfly/amd64 solaris/amd64 \
	illumos/amd64 aix/ppc64 windows/amd64 windows/arm64 plan9/amd64

all: flock                    ## build the one static binary, ./flock

flock: $(wildcard *.go fallback/*.go internal/*/*.go) go.mod go.sum
	$(GOBUILD) -o $@ .

demo: flock                   ## build, and show the main job at work
	sh compat_test/demo.sh ./flock

test: flock                   ## run all tests
	@test -z "$$(gofmt -l .)" || { gofmt -d .; exit 1; }
	go vet ./...
	go vet -tags flock_linkname ./...
	go test -timeout 30m -count=1 ./...
	sh completions/test.sh ./flock
	if command -v mandoc >/dev/null; then mandoc -T lint -W warning man/flock.1; \
		else echo 'mandoc is missing: manual page not checked'; fi

compat: flock                 ## compare with util-linux flock, script by script
	cd compat_test && go test -count=1 -timeout 30m \
		-run 'TestTranscripts|TestNative|TestDirectory|TestAbsent'

torture: flock                ## kill holders at random for a long time (FLOCK_TORTURE=5m)
	FLOCK_TORTURE=$${FLOCK_TORTURE:-5m} go test ./compat_test -count=1 -v -timeout 60m \
		-run 'TestTorture$$|TestKilledAtEverySystemCall'
	FALLBACK_TORTURE=$${FLOCK_TORTURE:-5m} FALLBACK_LONG=1 go test ./fallback -count=1 -v -timeout 60m

bench: flock                  ## measure beside util-linux flock and other lockers
	go run ./compat_test/bench $(BENCHFLAGS) ./flock

cross:                        ## build and vet for every system, into build/OS_ARCH
	@for system in $(SYSTEMS); do \
		export GOOS=$${system%/*} GOARCH=$${system#*/}; \
		program=build/$${GOOS}_$$GOARCH/flock; \
		[ $$GOOS != windows ] || program=$$program.exe; \
		echo $$program; \
		$(GOBUILD) -o $$program . && go vet ./... && go vet -tags flock_linkname ./... || exit 1; \
	done

test-qemu:                    ## run the tests on linux/arm64 and linux/386, under qemu-user
	sh compat_test/qemu/run.sh

test-wine:                    ## test the Windows program under Wine
	sh compat_test/wine/run.sh

install: flock                ## install binary, manual page and completions (DESTDIR, PREFIX)
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(DATADIR)/man/man1 \
		$(DESTDIR)$(DATADIR)/bash-completion/completions \
		$(DESTDIR)$(DATADIR)/zsh/site-functions \
		$(DESTDIR)$(DATADIR)/fish/vendor_completions.d
	install -m 755 flock $(DESTDIR)$(BINDIR)/flock
	install -m 644 man/flock.1 $(DESTDIR)$(DATADIR)/man/man1/flock.1
	install -m 644 completions/flock.bash $(DESTDIR)$(DATADIR)/bash-completion/completions/flock
	install -m 644 completions/_flock $(DESTDIR)$(DATADIR)/zsh/site-functions/_flock
	install -m 644 completions/flock.fish $(DESTDIR)$(DATADIR)/fish/vendor_completions.d/flock.fish

uninstall:                    ## remove what install put there
	rm -f $(DESTDIR)$(BINDIR)/flock $(DESTDIR)$(DATADIR)/man/man1/flock.1 \
		$(DESTDIR)$(DATADIR)/bash-completion/completions/flock \
		$(DESTDIR)$(DATADIR)/zsh/site-functions/_flock \
		$(DESTDIR)$(DATADIR)/fish/vendor_completions.d/flock.fish

dist: cross                   ## tarballs, packages and SHA256SUMS of every system, into dist
	for system in $(SYSTEMS); do \
		from=build/$$(echo $$system | tr / _)/flock; to=build/flock-$$(echo $$system | tr / -); \
		case $$system in windows/*) cp $$from.exe $$to.exe;; *) cp $$from $$to;; esac; done
	packaging/dist.sh $(VERSION) build dist $(SYSTEMS)
	packaging/deb.sh $(VERSION) amd64 build/flock-linux-amd64 dist
	packaging/apk.sh $(VERSION) x86_64 build/flock-linux-amd64 dist

clean:                        ## remove what was built
	rm -rf flock build dist

help:                         ## print this list
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' Makefile | expand -t 14

.PHONY: all demo test compat torture bench cross test-qemu test-wine install uninstall dist clean help
