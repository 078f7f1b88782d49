# The main tasks of development. `make help` lists them.

PREFIX  = /usr/local
BINDIR  = $(PREFIX)/bin
DATADIR = $(PREFIX)/share

VERSION := $(shell packaging/version.sh)
# The tag needs -checklinkname=0: internal/cstart explains both. -E names the entry
# point of the run without the Go runtime: see internal/early.
ENTRY = $$(case $$(go env GOOS)/$$(go env GOARCH) in \
	(linux/amd64|linux/arm64) echo -E flock_entry;; esac)
GOBUILD = CGO_ENABLED=0 go build -trimpath -buildvcs=false -tags flock_linkname \
	-ldflags "-s -w -checklinkname=0 $(ENTRY) -X main.version=$(VERSION)"

SYSTEMS = \
	linux/amd64 linux/arm64 linux/arm linux/386 linux/riscv64 linux/ppc64le \
	linux/s390x linux/loong64 linux/mips64le android/arm64 \
	darwin/amd64 darwin/arm64 freebsd/amd64 freebsd/arm64 openbsd/amd64 \
	openbsd/arm64 netbsd/amd64 netbsd/arm64 dragonfly/amd64 solaris/amd64 \
	illumos/amd64 aix/ppc64 windows/amd64 windows/arm64 plan9/amd64

# flock-etcd is a module of its own. It is for Unix, and the client of etcd does not compile for AIX.
ETCDBUILD = cd etcd && CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w -X main.version=$(VERSION)"
ETCD_SYSTEMS = $(filter-out aix/% windows/% plan9/%,$(SYSTEMS))

all: flock                    ## build the one static binary, ./flock

flock: $(wildcard *.go fallback/*.go internal/*/*) go.mod go.sum
	$(GOBUILD) -o $@ .

flock-etcd: $(wildcard etcd/*.go etcd/help.txt lease/*.go lease/guard/*.go internal/*/*) etcd/go.mod etcd/go.sum  ## build the lock for many machines
	$(ETCDBUILD) -o ../$@ .

demo: flock                   ## build, and show the main uses
	sh compat_test/demo.sh ./flock

demo-etcd: flock-etcd         ## build, and start three members of etcd to try it with, until Ctrl-C
	@sh etcd/members.sh

check: flock                  ## what to run after each change (about a minute)
	@test -z "$$(gofmt -l .)" || { gofmt -d .; exit 1; }
	go vet ./...
	sh compat_test/leaves-none.sh go test -short -count=1 ./...

test: flock                   ## run all tests (about three minutes)
	@sh compat_test/leaves-none.sh $(MAKE) --no-print-directory -j2 test-go test-beside

test-go:
	go test -timeout 30m -count=1 ./...

# What runs beside the tests, which mostly wait. It is nice, so that it does not slow them down.
test-beside:
	@test -z "$$(gofmt -l .)" || { gofmt -d .; exit 1; }
	go mod tidy -diff
	nice go vet ./...
	nice go vet -tags flock_linkname ./...
	nice $(MAKE) --no-print-directory race
	nice sh completions/test.sh ./flock
	nice sh packaging/test.sh ./flock
	@if command -v mandoc >/dev/null; then for page in man/*.1 etcd/man/*.1 packaging/debian/*.8; do \
		mandoc -T lint -W warning $$page || exit 1; done; \
		else echo 'mandoc is missing: manual pages not checked'; fi

# The servers and etcdctl are built from their modules. Nothing but loopback is used.
test-etcd: flock flock-etcd         ## run the tests of flock-etcd over etcd servers (two minutes)
	@test -z "$$(gofmt -l etcd)" || { gofmt -d etcd; exit 1; }
	go test -count=1 ./lease/... && go test -count=1 -tags guard_goroutine ./lease/guard
	cd etcd && go mod tidy -diff && go vet ./... && go test -count=1 ./...
	cd etcd/test && go mod tidy -diff && go vet ./... && go test -timeout 10m -count=1 -parallel 6 ./...
	sh completions/test.sh ./flock ./flock-etcd
	sh packaging/test.sh ./flock ./flock-etcd

race:                         ## run the directory lock's tests with the race detector
	@if out=$$(CGO_ENABLED=1 go test -race -run '^$$' ./fallback 2>&1); then \
		CGO_ENABLED=1 go test -race -short -count=1 -skip TestEveryInterleaving ./fallback; \
		else echo "race: not run: there is no race detector or no C compiler here: $$out"; fi

compat: flock                 ## compare with util-linux flock, script by script
	cd compat_test && go test -count=1 -timeout 30m \
		-run 'TestTranscripts|TestNative|TestDirectory|TestAbsent'

record: flock                 ## record the answers of the installed util-linux flock
	go test ./compat_test -count=1 -timeout 30m -record

mutants:                      ## show that every case can fail (half an hour; FLOCK_MUTANTS=all or a name)
	cd compat_test && FLOCK_MUTANTS=$${FLOCK_MUTANTS:-first} go test -count=1 -timeout 5h -run 'TestMutants$$'

torture: flock                ## kill holders at random for long (an hour; with FLOCK_TORTURE=5m five)
	FLOCK_TORTURE=$${FLOCK_TORTURE:-1m} go test ./compat_test -count=1 -v -timeout 24h \
		-run 'TestTorture|TestKilledAtEverySystemCall|TestRandomScripts'
	FLOCK_TORTURE=$${FLOCK_TORTURE:-1m} go test ./fallback -count=1 -v -timeout 24h

torture-etcd: flock-etcd      ## kill flock-etcd, its command and etcd's members at random (FLOCK_TORTURE=5m)
	cd etcd/test && FLOCK_TORTURE=$${FLOCK_TORTURE:-5m} go test -count=1 -v -timeout 60m -run 'TestTorture$$' .

bench: flock                  ## measure beside util-linux flock and other lockers
	go run ./compat_test/bench -svg compat_test/bench/bench.svg $(BENCHFLAGS) ./flock

bench-etcd: flock-etcd        ## measure beside etcdctl lock
	cd etcd/test && go run ./bench $(BENCHFLAGS) ../../flock-etcd

cross:                        ## build and vet for every system, into build/OS_ARCH
	@for system in $(SYSTEMS); do \
		export GOOS=$${system%/*} GOARCH=$${system#*/}; \
		program=build/$${GOOS}_$$GOARCH/flock; \
		[ $$GOOS != windows ] || program=$$program.exe; \
		echo $$program; \
		$(GOBUILD) -o $$program . && go vet ./... && go vet -tags flock_linkname ./... || exit 1; \
	done
	@for system in $(ETCD_SYSTEMS); do \
		export GOOS=$${system%/*} GOARCH=$${system#*/}; \
		program=build/$${GOOS}_$$GOARCH/flock-etcd; \
		echo $$program; \
		($(ETCDBUILD) -o ../$$program . && go vet ./...) || exit 1; \
	done

test-qemu:                    ## run a core of the tests on the other Linux architectures, under qemu-user
	sh compat_test/qemu/run.sh

test-gvisor: flock            ## run the cases in gVisor, with kernel locks and with the directory lock (ten minutes)
	sh compat_test/gvisor/run.sh

test-wine:                    ## test the Windows program under Wine
	sh compat_test/wine/run.sh

test-machines: flock          ## boot a server and two clients, and test locks on NFS and SMB (root; half an hour)
	compat_test/machines/run.sh

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

install-etcd: flock-etcd      ## install flock-etcd in the same way
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(DATADIR)/man/man1 \
		$(DESTDIR)$(DATADIR)/bash-completion/completions \
		$(DESTDIR)$(DATADIR)/zsh/site-functions \
		$(DESTDIR)$(DATADIR)/fish/vendor_completions.d
	install -m 755 flock-etcd $(DESTDIR)$(BINDIR)/flock-etcd
	install -m 644 etcd/man/flock-etcd.1 $(DESTDIR)$(DATADIR)/man/man1/flock-etcd.1
	install -m 644 completions/flock.bash $(DESTDIR)$(DATADIR)/bash-completion/completions/flock-etcd
	install -m 644 completions/_flock $(DESTDIR)$(DATADIR)/zsh/site-functions/_flock-etcd
	install -m 644 completions/flock.fish $(DESTDIR)$(DATADIR)/fish/vendor_completions.d/flock-etcd.fish

uninstall:                    ## remove what install and install-etcd put there
	rm -f $(DESTDIR)$(BINDIR)/flock-etcd $(DESTDIR)$(DATADIR)/man/man1/flock-etcd.1 \
		$(DESTDIR)$(DATADIR)/bash-completion/completions/flock-etcd \
		$(DESTDIR)$(DATADIR)/zsh/site-functions/_flock-etcd \
		$(DESTDIR)$(DATADIR)/fish/vendor_completions.d/flock-etcd.fish
	rm -f $(DESTDIR)$(BINDIR)/flock $(DESTDIR)$(DATADIR)/man/man1/flock.1 \
		$(DESTDIR)$(DATADIR)/bash-completion/completions/flock \
		$(DESTDIR)$(DATADIR)/zsh/site-functions/_flock \
		$(DESTDIR)$(DATADIR)/fish/vendor_completions.d/flock.fish

dist: cross                   ## tarballs, packages, source and SHA256SUMS, into dist
	rm -rf dist
	for system in $(SYSTEMS); do \
		from=build/$$(echo $$system | tr / _)/flock; to=build/flock-$$(echo $$system | tr / -); \
		case $$system in windows/*) cp $$from.exe $$to.exe;; *) cp $$from $$to;; esac; done
	for system in $(ETCD_SYSTEMS); do system=$$(echo $$system | tr / _); \
		cp build/$$system/flock-etcd build/flock-etcd-$$(echo $$system | tr _ -); done
	packaging/dist.sh flock $(VERSION) build dist $(SYSTEMS)
	packaging/dist.sh flock-etcd $(VERSION) build dist $(ETCD_SYSTEMS)
	packaging/source.sh $(VERSION) dist
	for arch in amd64 arm64; do for package in flock-go flock-etcd; do \
		binary=build/$${package%-go}-linux-$$arch; \
		packaging/deb.sh $$package $(VERSION) $$arch $$binary dist && \
		packaging/apk.sh $$package $(VERSION) $$arch $$binary dist || exit 1; done; done
	cd dist && sha256sum * >../build/SHA256SUMS && mv ../build/SHA256SUMS .

clean:                        ## remove what was built
	rm -rf flock flock-etcd build dist

help:                         ## print this list
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' Makefile | expand -t 14

.PHONY: all demo demo-etcd check test test-go test-beside test-etcd race compat record mutants torture torture-etcd bench bench-etcd cross test-qemu test-gvisor test-wine test-machines install install-etcd uninstall dist clean help
