//go:build linux && (amd64 || arm64)

package early

import "unsafe"

// A vector is an array of C strings, with a null pointer behind it, as the
// kernel lays it out. It is no type with methods: for those the compiler makes
// wrappers that call the runtime.

func slot(vector unsafe.Pointer, i int) unsafe.Pointer {
	return unsafe.Add(vector, i*int(unsafe.Sizeof(uintptr(0))))
}

func at(vector unsafe.Pointer, i int) unsafe.Pointer { return *(*unsafe.Pointer)(slot(vector, i)) }

// set is not a plain store of a pointer, which would have a write barrier.
func set(vector unsafe.Pointer, i int, word unsafe.Pointer) {
	*(*uintptr)(slot(vector, i)) = uintptr(word)
}

// text is the C string at p as a Go string, in the same memory.
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

// cString is a Go string that ends in a NUL as a C string.
func cString(s string) unsafe.Pointer { return unsafe.Pointer(unsafe.StringData(s)) }

// equal is a == b, for which the compiler may call the runtime.
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

// number reads decimal digits, at most nine, and nothing else.
func number(s string) (n int, ok bool) {
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
