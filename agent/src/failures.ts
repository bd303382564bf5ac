// Failures of requests that the policy does not deny, in the words that clients get from both
// engines: a request cannot be read or carried out, or its destination cannot be reached.

/** The longest header of a request or a response, with its first line. Squid has the same bound. */
export const longestHeaderBytes = 65_536;

/** By word, the status and a sentence without its final full stop. */
const failures = {
  bad_request: [400, 'the request is not HTTP/1.1 that can be read in one way only'],
  bad_target: [400, 'a proxy takes CONNECT host:port, and http://host/path for other methods'],
  slow_request: [408, 'the request did not come in time'],
  bad_expectation: [417, 'the only expectation that is accepted is 100-continue'],
  long_header: [431, 'the header of the request is longer than 64 KiB'],
  unsupported: [
    501,
    'this node does not forward such a method, framing of the body or Max-Forwards',
  ],
  unresolved: [502, 'the name of the destination could not be resolved'],
  unreachable: [502, 'the destination could not be reached'],
  no_answer: [502, 'the destination ended the connection without an answer'],
  broken_answer: [502, 'the answer of the destination is not clean HTTP/1.1'],
  long_answer: [502, 'the header of the answer is longer than 64 KiB'],
  no_name_server: [503, 'no name server of this node answers; try again, or another node'],
  exit_unavailable: [503, 'the exit address of this port is not available; try another one'],
  exit_busy: [503, 'the exit of this port can open no more connections now; try another one'],
  timed_out: [504, 'the destination did not answer in time'],
  not_cached: [504, 'only a cached answer is wanted (only-if-cached), and nothing is cached here'],
  bad_version: [505, 'the version of the request is neither HTTP/1.1 nor HTTP/1.0'],
} as const satisfies Record<string, readonly [number, string]>;

export type Failure = keyof typeof failures;

export function statusOfFailure(failure: Failure): number {
  return failures[failure][0];
}

/** One sentence, without the final full stop. */
export function sentenceOfFailure(failure: Failure): string {
  return failures[failure][1];
}

/** The body of the response: one line of text. `sentence`: where an engine knows more or less. */
export function bodyOfFailure(failure: Failure, sentence = sentenceOfFailure(failure)): string {
  return `Exitward: ${sentence} (${failure}).\n`;
}
