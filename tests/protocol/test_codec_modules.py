"""Codecs that the compiled build makes ready are the ones that are generated at run time.

Here their text runs uncompiled. In the compiled build the other tests of this folder have them
compiled behind `compiler.decoder` and `compiler.encoder`.
"""

import random
import struct
from functools import cache
from types import FunctionType

import pytest

from drumbeat.protocol import codec_calls
from drumbeat.protocol.apis import fetch
from drumbeat.protocol.codec_modules import COMPILED_APIS, codec_modules, module_text
from drumbeat.protocol.compiler import IS_COMPILED_BUILD, decoder, encoder
from drumbeat.protocol.errors import ProtocolError
from drumbeat.protocol.pieces import Pieces
from drumbeat.protocol.source import function_name
from support.messages import populated

ROUNDS = 3
LIES = (0x00, 0x7F, 0x80, 0xFF)
CASES = [(api, version) for api in COMPILED_APIS for version in api.versions]
# The lowest, the first flexible and the highest version of each API: every shape there is.
SHAPES = [
    (api, version)
    for api in COMPILED_APIS
    for version in sorted({api.versions[0], api.versions[-1], api.flexible} & set(api.versions))
]
each_case = pytest.mark.parametrize(
    ("api", "version"), CASES, ids=lambda case: getattr(case, "name", case)
)
each_shape = pytest.mark.parametrize(
    ("api", "version"), SHAPES, ids=lambda case: getattr(case, "name", case)
)


@cache
def namespace(api):
    names = {"__name__": f"codecs of {api.name}"}
    exec(module_text(api), names)
    return names


def ready(kind, api, version):
    message = api.request if kind == "decode" else api.response
    return namespace(api)[function_name(kind, message, version, api.is_flexible(version))]


def samples(message, api, version):
    rng = random.Random(f"ready {api.name} {version}")
    yield message()
    for _ in range(ROUNDS):
        yield populated(message, version, rng)


def outcome(decode, data):
    try:
        return decode(data, 0)
    except ProtocolError:
        return ProtocolError


@each_case
def test_requests_are_read_alike(api, version):
    encode = encoder(api.request, version, api.is_flexible(version))
    for request in samples(api.request, api, version):
        assert ready("decode", api, version)(b"head" + encode(request), 4) == request


@each_case
def test_responses_are_written_alike(api, version):
    encode = encoder(api.response, version, api.is_flexible(version))
    for response in samples(api.response, api, version):
        assert ready("encode", api, version)(response) == encode(response)


@each_shape
def test_hostile_bytes_have_the_same_outcome(api, version):
    decode = decoder(api.request, version, api.is_flexible(version))
    rng = random.Random(f"hostile {api.name} {version}")
    request = populated(api.request, version, rng)
    data = encoder(api.request, version, api.is_flexible(version))(request)
    for position in range(min(len(data), 600)):
        with pytest.raises(ProtocolError):
            ready("decode", api, version)(data[:position], 0)
        for lie in LIES:
            changed = data[:position] + bytes([lie]) + data[position + 1 :]
            assert outcome(ready("decode", api, version), changed) == outcome(decode, changed)


def test_a_refusal_names_the_version_even_where_several_share_a_layout():
    for version in (7, 8):
        with pytest.raises(ProtocolError, match=f"FetchRequest v{version}: "):
            ready("decode", fetch.API, version)(b"\0", 0)


def test_records_may_stay_outside_of_memory():
    class InFile:
        def __len__(self):
            return 5

    in_file = InFile()
    partition = fetch.PartitionData(records=in_file)
    response = fetch.FetchResponse(
        responses=(fetch.FetchableTopicResponse(partitions=(partition,)),)
    )
    for encode in (ready("encode", fetch.API, 12), fetch.API.encode_response(12)):
        pieces = encode(response)
        assert isinstance(pieces, Pieces)
        assert in_file in pieces.parts


def test_there_is_one_module_per_api():
    names = {f"{api.request.__module__.rsplit('.', 1)[1]}.py" for api in COMPILED_APIS}
    assert codec_modules().keys() == names | {"__init__.py"}


@each_case
def test_ready_functions_serve_in_the_compiled_build_and_nowhere_else(api, version):
    for function in (api.decode_request(version), api.encode_response(version)):
        assert isinstance(function, FunctionType) is not IS_COMPILED_BUILD


@pytest.mark.parametrize(
    ("read", "form", "values"),
    [
        (codec_calls.read_bool, "?", (False, True)),
        (codec_calls.read_int8, "b", (-(2**7), -1, 0, 2**7 - 1)),
        (codec_calls.read_uint8, "B", (0, 1, 2**8 - 1)),
        (codec_calls.read_int16, "h", (-(2**15), -1, 0, 0x0102, 2**15 - 1)),
        (codec_calls.read_uint16, "H", (0, 0x0102, 2**16 - 1)),
        (codec_calls.read_int32, "i", (-(2**31), -1, 0, 0x01020304, 2**31 - 1)),
        (codec_calls.read_uint32, "I", (0, 0x01020304, 2**32 - 1)),
        (codec_calls.read_int64, "q", (-(2**63), -1, 0, 0x0102030405060708, 2**63 - 1)),
        (codec_calls.read_float64, "d", (-1.5, 0.0, 1e300)),
        (codec_calls.read_uuid, "16s", (bytes(range(16)),)),
    ],
)
def test_fixed_width_values_are_read_as_struct_reads_them(read, form, values):
    for value in values:
        data = struct.pack(f">x{form}", value)
        assert read(data, 1) == value
        with pytest.raises((IndexError, struct.error, ProtocolError)):
            read(data[:-1], 1)
