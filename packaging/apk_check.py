"""apk_check.py FILE...: checks what apk reads of a package of format 2, where apk itself is not there to be asked."""
import hashlib, io, sys, tarfile, zlib

for path in sys.argv[1:]:
    rest, members = open(path, 'rb').read(), []
    while rest:
        inflate = zlib.decompressobj(wbits=31)
        text = inflate.decompress(rest) + inflate.flush()
        members.append((text, rest[:len(rest) - len(inflate.unused_data)]))
        rest = inflate.unused_data
    (control, _), (data, packed) = members
    info = tarfile.open(fileobj=io.BytesIO(control + bytes(1024)))
    assert info.getnames() == ['.PKGINFO'], info.getnames()
    assert control[-512:] != bytes(512), 'the first part has an end mark'
    fields = dict(line.split(' = ', 1) for line in info.extractfile('.PKGINFO').read().decode().splitlines())
    assert fields['datahash'] == hashlib.sha256(packed).hexdigest(), 'datahash'
    assert path.split('/')[-1] == '%s-%s-%s.apk' % (fields['pkgname'], fields['pkgver'], fields['arch']), fields
    files = size = 0
    for member in tarfile.open(fileobj=io.BytesIO(data)):
        assert member.uid == member.gid == 0 and not member.name.startswith(('/', '.')), member.name
        if member.isfile():
            content = tarfile.open(fileobj=io.BytesIO(data)).extractfile(member.name).read()
            assert member.pax_headers['APK-TOOLS.checksum.SHA1'] == hashlib.sha1(content).hexdigest(), member.name
            files, size = files + 1, size + len(content)
    assert files > 0 and size == int(fields['size']), (files, size, fields['size'])
