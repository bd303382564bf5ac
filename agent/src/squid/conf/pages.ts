// The pages with which Squid rejects a request: one for each reason of the policy, and one for each
// fault that Squid itself finds.
import { bodyOfFailure, type Failure } from '../../failures.ts';
import { allReasons, bodyOf, type Reason } from '../../policy/denials.ts';

/**
 * Squid's own denial of a request that it was checking when it read its configuration again: it
 * loses the checks. The status is always 403.
 */
export const forgottenCheck = 'ERR_ACCESS_DENIED';

/** The name of the page for a reason. */
export const pageOf = (reason: Reason) => `ERR_EXITWARD_${reason.toUpperCase()}`;

/** The faults that Squid itself may find. */
const faults = [
  ...['ACCESS_DENIED', 'CACHE_ACCESS_DENIED', 'CACHE_MGR_ACCESS_DENIED', 'CANNOT_FORWARD'],
  ...['CONFLICT_HOST', 'CONNECT_FAIL', 'DIR_LISTING', 'DNS_FAIL', 'ESI', 'FORWARDING_DENIED'],
  ...['FTP_DISABLED', 'FTP_FAILURE', 'FTP_FORBIDDEN', 'FTP_NOT_FOUND', 'FTP_PUT_CREATED'],
  ...['FTP_PUT_ERROR', 'FTP_PUT_MODIFIED', 'FTP_UNAVAILABLE', 'GATEWAY_FAILURE', 'ICAP_FAILURE'],
  ...['INVALID_REQ', 'INVALID_RESP', 'INVALID_URL', 'LIFETIME_EXP', 'NO_RELAY'],
  ...['ONLY_IF_CACHED_MISS', 'PRECONDITION_FAILED', 'PROTOCOL_UNKNOWN', 'READ_ERROR'],
  ...['READ_TIMEOUT', 'SECURE_CONNECT_FAIL', 'SHUTTING_DOWN', 'SOCKET_FAILURE', 'TOO_BIG'],
  ...['UNSUP_HTTPVERSION', 'UNSUP_REQ', 'URN_RESOLVE', 'WRITE_ERROR', 'ZERO_SIZE_OBJECT'],
];

/**
 * Squid's names of the faults that it finds in an allowed request, by failure, as far as Squid can
 * distinguish them. Replies to CONNECT, and to a request that it could not parse, have no reason in
 * their header.
 */
const failures: Partial<Record<Failure, { names: string[]; sentence?: string }>> = {
  bad_request: {
    names: ['INVALID_REQ', 'PROTOCOL_UNKNOWN'],
    sentence:
      'the request is not clean HTTP/1.1, has no length that can be read (411), or expects other than 100-continue (417)',
  },
  bad_target: {
    names: ['INVALID_URL', 'URN_RESOLVE'],
    sentence:
      'a proxy takes CONNECT host:port, and http://host/path for other methods, of 8 KiB at most and without spaces',
  },
  long_header: {
    names: ['TOO_BIG'],
    sentence: 'the header of the request, or of the answer to it, is longer than 64 KiB',
  },
  unsupported: { names: ['UNSUP_REQ'] },
  unresolved: { names: ['DNS_FAIL'] },
  unreachable: {
    names: ['CANNOT_FORWARD', 'CONNECT_FAIL'],
    sentence: 'the destination could not be reached, or the exit of this port is missing or busy',
  },
  no_answer: { names: ['READ_ERROR', 'WRITE_ERROR', 'ZERO_SIZE_OBJECT'] },
  broken_answer: { names: ['INVALID_RESP'] },
  timed_out: { names: ['LIFETIME_EXP', 'READ_TIMEOUT'] },
  not_cached: { names: ['ONLY_IF_CACHED_MISS'] },
  bad_version: { names: ['UNSUP_HTTPVERSION'] },
};

/** The failures, each with Squid's faults. */
export const failureEntries = Object.entries(failures) as Array<
  [Failure, { names: string[]; sentence?: string }]
>;

/** Every fault, by Squid's name of its page. */
export const allFaults = faults.map((name) => `ERR_${name}`);

/** Pages that are not for faults: Squid complains if one is missing. */
const others = ['ERR_ACL_TIME_QUOTA_EXCEEDED', 'ERR_AGENT_CONFIGURE', 'ERR_AGENT_WPAD'];

/** Every page, by file name. One line each, since most are sent to misdirected clients. */
export function errorPages(): Map<string, string> {
  const other = 'Exitward: the request could not be carried out (%c).\n';
  return new Map([
    ...[...allFaults, ...others].map((name) => [name, other] as const),
    [forgottenCheck, bodyOf('not_ready')],
    ...failureEntries.flatMap(([word, { names, sentence }]) =>
      names.map((name) => [`ERR_${name}`, bodyOfFailure(word, sentence)] as const),
    ),
    ...allReasons.map((reason) => [pageOf(reason), bodyOf(reason)] as const),
  ]);
}
