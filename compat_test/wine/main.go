// Command wine writes bcryptprimitives.dll to standard output. Every Go program on Windows needs it for random numbers,
// and Wine before 8.9 does not have it. It is a library for x86-64 with one function, ProcessPrng, which it forwards to
// the equivalent function of another library.
package main

import (
	"bytes"
	"encoding/binary"
	"os"
)

const (
	imageBase   = 0x180000000
	sectionRVA  = 0x1000
	headersSize = 0x200
	sectionSize = 0x200
)

func main() {
	section := exports("bcryptprimitives.dll", "ProcessPrng", "advapi32.SystemFunction036")

	var b bytes.Buffer
	put := func(fields ...any) {
		for _, field := range fields {
			binary.Write(&b, binary.LittleEndian, field)
		}
	}
	// the DOS header: only its magic number and the offset of the PE header
	b.WriteString("MZ")
	b.Write(make([]byte, 58))
	put(uint32(64))
	b.WriteString("PE\x00\x00")
	// file header: machine, sections, time, symbols (2), size of the optional header, executable DLL
	put(uint16(0x8664), uint16(1), uint32(0), uint32(0), uint32(0), uint16(240), uint16(0x2022))
	// optional header, PE32+
	put(uint16(0x20b), uint16(0), uint32(0), uint32(sectionSize), uint32(0), uint32(0), uint32(sectionRVA))
	put(uint64(imageBase), uint32(0x1000), uint32(headersSize))
	put(uint16(6), uint16(0), uint16(0), uint16(0), uint16(6), uint16(0), uint32(0)) // versions
	put(uint32(2*sectionRVA), uint32(headersSize), uint32(0), uint16(3), uint16(0x100))
	put(uint64(0x100000), uint64(0x1000), uint64(0x100000), uint64(0x1000), uint32(0), uint32(16))
	put(uint32(sectionRVA), uint32(len(section))) // directory 0: exports
	b.Write(make([]byte, 15*8))
	// the section: readable data
	b.WriteString(".rdata\x00\x00")
	put(uint32(len(section)), uint32(sectionRVA), uint32(sectionSize), uint32(headersSize))
	put(uint32(0), uint32(0), uint32(0), uint32(0x40000040))
	b.Write(make([]byte, headersSize-b.Len()))
	b.Write(section)
	b.Write(make([]byte, headersSize+sectionSize-b.Len()))
	if _, err := os.Stdout.Write(b.Bytes()); err != nil {
		os.Exit(1)
	}
}

// exports returns an export directory with one forwarded function: the address of
// the function is that of the target's name, inside the directory.
func exports(library, function, target string) []byte {
	const tables = 40
	addresses, names, ordinals := uint32(sectionRVA+tables), uint32(sectionRVA+tables+4), uint32(sectionRVA+tables+8)
	libraryAt := ordinals + 4
	functionAt := libraryAt + uint32(len(library)) + 1
	targetAt := functionAt + uint32(len(function)) + 1

	var b bytes.Buffer
	for _, field := range []uint32{0, 0, 0, libraryAt, 1, 1, 1, addresses, names, ordinals, targetAt, functionAt, 0} {
		binary.Write(&b, binary.LittleEndian, field)
	}
	b.WriteString(library + "\x00" + function + "\x00" + target + "\x00")
	return b.Bytes()
}
