"""ApiVersions: what is advertised, and what a client that asks wrongly is told."""

import struct

import pytest

from drumbeat.protocol.apis import APIS, heartbeat
from drumbeat.protocol.apis.api_versions import API, ApiVersionsRequest
from drumbeat.protocol.errors import ErrorCode
from drumbeat.runtime.handlers import HANDLERS
from support.brokers import IS_KAFKA
from support.wire import Wire, request_frame

NAMED = ApiVersionsRequest("wire", "1.0")


def advertised(response):
    return {api.api_key: (api.min_version, api.max_version) for api in response.api_keys}


@pytest.mark.parametrize("version", API.versions)
def test_every_handled_api_is_advertised_with_the_versions_that_are_declared(wire, version):
    response = wire.call(API, version, NAMED)
    assert response.error_code == ErrorCode.NONE
    told = advertised(response)
    for key in HANDLERS:
        first, last = APIS[key].versions[0], APIS[key].versions[-1]
        # Produce from 0: librdkafka takes LZ4 for supported only then (KAFKA-18659).
        assert told[key] == (0 if key == 0 else first, last), APIS[key].name
    if not IS_KAFKA:
        assert told.keys() == HANDLERS.keys()


@pytest.mark.parametrize("version", [5, 9, 100, 127, 32767])
def test_an_unknown_version_is_answered_in_v0_and_the_connection_goes_on(wire, version):
    body = request_frame(API, 4, NAMED, correlation_id=7)
    wire.send_bytes(body[:6] + struct.pack(">h", version) + body[8:])
    # Correlation id 7, UNSUPPORTED_VERSION, one API: ApiVersions 0 to 4.
    assert wire.receive_frame() == bytes.fromhex("00000007002300000001001200000004")
    assert wire.call(API, 3, NAMED).error_code == ErrorCode.NONE


SOFTWARE = [
    # name, version, answer; as observed from Apache Kafka
    ("", "1", ErrorCode.INVALID_REQUEST),
    ("spec", "", ErrorCode.INVALID_REQUEST),
    ("sp ec", "1", ErrorCode.INVALID_REQUEST),
    ("-a", "1", ErrorCode.INVALID_REQUEST),
    ("a-", "1", ErrorCode.INVALID_REQUEST),
    ("a", "1_0", ErrorCode.INVALID_REQUEST),
    ("a.b-c", "1.0", ErrorCode.NONE),
    ("a", "1", ErrorCode.NONE),
]


@pytest.mark.parametrize("version", [3, 4])
@pytest.mark.parametrize(("name", "software_version", "error_code"), SOFTWARE)
def test_a_client_has_to_be_named(wire, version, name, software_version, error_code):
    response = wire.call(API, version, ApiVersionsRequest(name, software_version))
    assert response.error_code == error_code
    assert bool(response.api_keys) == (error_code == ErrorCode.NONE)


UNSUPPORTED = {
    "Produce v2": struct.pack(">hhih", 0, 2, 1, -1) + bytes(14),
    "Produce v14": struct.pack(">hhihb", 0, 14, 1, -1, 0) + bytes(14),
    "Fetch v3": struct.pack(">hhih", 1, 3, 1, -1) + bytes(20),
    "API key 999": struct.pack(">hhih", 999, 0, 1, -1) + bytes(8),
    "Heartbeat v99": struct.pack(">hhih", heartbeat.API.key, 99, 1, -1) + bytes(8),
}


@pytest.mark.parametrize("payload", UNSUPPORTED.values(), ids=UNSUPPORTED.keys())
def test_any_other_unsupported_request_closes_the_connection(bootstrap_servers, payload):
    with Wire(bootstrap_servers) as connection:
        connection.send_bytes(struct.pack(">i", len(payload)) + payload)
        assert connection.is_closed()
