//go:build linux && (amd64 || arm64)

package early

import "unsafe"

// A vector is an array of C strings that ends with a null pointer, as the kernel lays it out. It is not a type with
// methods: for those the compiler generates wrappers that call the runtime.

func slot(vector unsafe.Pointer, i int) unsafe.Pointer {
	return unsafe.Add(vector, i*int(unsafe.Sizeof(uintptr(0))))
}

func at(vector unsafe.Pointer, i int) unsafe.Pointer { return *(*unsafe.Pointer)(slot(vector, i)) }

// set stores a pointer as an integer: a plain store would have a write barrier.
func set(vector unsafe.Pointer, i int, word unsafe.Pointer) {
	*(*uintptr)(slot(vector, i)) = uintptr(word)
}

// text returns the C string at p as a Go string, in the same memory.
func text(p unsafe.Pointer) string {
	n := 0
	for *(*byte)(unsafe.Add(p, n)) != 0 {
		n++
	}
	header := struct {
		first  unsafe.Pointer
		length int
	}{p, n}
	return *(*string)(unsafe.Pointer(&header))
}

// cString returns a Go string that ends with a NUL as a C string.
func cString(s string) unsafe.Pointer { return unsafe.Pointer(unsafe.StringData(s)) }

// equal reports whether a and b are equal. For a == b the compiler may call the runtime.
func equal(a, b string) bool { return len(a) == len(b) && hasPrefix(a, b) }

func hasPrefix(s, prefix string) bool {
	if len(s) < len(prefix) {
		return false
	}
	for i := range len(prefix) {
		if s[i] != prefix[i] {
			return false
		}
	}
	return true
}

// index returns where c is first in s, the length of s if it is not there.
func index(s string, c byte) int {
	i := 0
	for i < len(s) && s[i] != c {
		i++
	}
	return i
}

// parseNumber reads decimal digits, at most nine, and nothing else.
func parseNumber(s string) (n int, ok bool) {
	if len(s) == 0 || len(s) > 9 {
		return 0, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n, true
}
