//go:build linux

package main

import (
	"bytes"
	"encoding/binary"
	"os"
	"runtime"
)

// tinyProgram returns a very small static program: a header and a few instructions. It exits with 0. With stamp it
// first writes a byte to descriptor 1; with wait it then waits for the end of file on descriptor 0.
func tinyProgram(stamp, wait bool) []byte {
	var code []byte
	var machine uint16
	switch runtime.GOARCH {
	case "amd64":
		machine = 62
		if stamp {
			code = []byte{
				0x31, 0xff, 0xff, 0xc7, // xor edi,edi; inc edi
				0x48, 0x8d, 0x35, 0xf5, 0xff, 0xff, 0xff, // lea rsi,[rip-11]
				0x31, 0xd2, 0xff, 0xc2, // xor edx,edx; inc edx
				0xb8, 1, 0, 0, 0, 0x0f, 0x05, // mov eax,1 (write); syscall
			}
		}
		if wait {
			code = append(code,
				0x31, 0xff, // xor edi,edi
				0x48, 0x8d, 0x74, 0x24, 0xf0, // lea rsi,[rsp-16]
				0xba, 1, 0, 0, 0, // mov edx,1
				0x31, 0xc0, 0x0f, 0x05, // xor eax,eax (read); syscall
			)
		}
		code = append(code, 0x31, 0xff, 0xb8, 60, 0, 0, 0, 0x0f, 0x05) // xor edi,edi; mov eax,60 (exit); syscall
	case "arm64":
		machine = 183
		words := []uint32{}
		if stamp {
			words = append(words,
				0xd2800020, // mov x0, #1
				0x10ffffe1, // adr x1, .-4
				0xd2800022, // mov x2, #1
				0xd2800808, // mov x8, #64 (write)
				0xd4000001) // svc #0
		}
		if wait {
			words = append(words,
				0xd2800000, // mov x0, #0
				0xd10043e1, // sub x1, sp, #16
				0xd2800022, // mov x2, #1
				0xd28007e8, // mov x8, #63 (read)
				0xd4000001) // svc #0
		}
		words = append(words, 0xd2800000, 0xd2800ba8, 0xd4000001) // mov x0, #0; mov x8, #93 (exit); svc #0
		for _, w := range words {
			code = binary.LittleEndian.AppendUint32(code, w)
		}
	default:
		program, err := os.ReadFile("/bin/true")
		check(err)
		return program
	}
	const base, header = 0x400000, 64 + 56
	var b bytes.Buffer
	b.WriteString("\x7fELF\x02\x01\x01" + "\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	for _, field := range []any{
		uint16(2), machine, uint32(1), uint64(base + header), uint64(64), uint64(0), // entry, program headers
		uint32(0), uint16(64), uint16(56), uint16(1), uint16(0), uint16(0), uint16(0),
		uint32(1), uint32(5), uint64(0), uint64(base), uint64(base), // load, read and execute
		uint64(header + len(code)), uint64(header + len(code)), uint64(4096),
	} {
		binary.Write(&b, binary.LittleEndian, field)
	}
	b.Write(code)
	return b.Bytes()
}
