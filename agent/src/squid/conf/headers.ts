// The headers that Squid adds to what it says by itself, and those of its own that nobody shall see.
import { allReasons, reasonHeader, statusOf } from '../../policy/denials.ts';
import { allFaults, failures } from './pages.ts';

/** Squid writes these into its own answers. */
const squids = ['Server', 'Mime-Version', 'X-Squid-Error'];

/**
 * The lines about headers; the notes that they look at are those of squid_conf.ts. A rule that looks at
 * a header of the answer would be shorter, and ends Squid 5.7 by an assertion.
 */
export const headerLines = [
  // Of the client and of this proxy an origin learns what the client says, and the address.
  'via off',
  'forwarded_for transparent',
  // Squid would add how old a cached answer may be. The client's own goes on as it came.
  'request_header_access Cache-Control deny all',
  'acl has_cache_control req_header Cache-Control .',
  `request_header_add Cache-Control "%'>h{Cache-Control}" has_cache_control`,

  // Squid's own words: the policy's denials, a question that the decider died with, its own faults.
  `acl challenged note reason_ ${allReasons.filter((reason) => statusOf(reason) === 407).join(' ')}`,
  'acl was_asked note asked_',
  'acl answered note account_',
  'acl unanswered all-of was_asked !answered !probe !refused',
  `acl failed squid_error ${allFaults.join(' ')}`,
  // A TRACE that may go no further.
  'acl trace method TRACE',
  'acl own_words any-of refused unanswered failed trace',
  'reply_header_add Proxy-Authenticate "Basic realm=\\"Exitward\\"" challenged',
  `reply_header_add ${reasonHeader} "%note{reason_}" refused`,
  `reply_header_add ${reasonHeader} not_ready unanswered`,
  ...Object.entries(failures).flatMap(([word, { names }]) => [
    `acl failed_${word} squid_error ${names.map((name) => `ERR_${name}`).join(' ')}`,
    `reply_header_add ${reasonHeader} "${word}" failed_${word}`,
  ]),
  'reply_header_access Content-Type deny refused',
  'reply_header_access Content-Type deny unanswered',
  'reply_header_replace Content-Type text/plain;charset=utf-8',

  // Nothing tells which proxy this is. Squid adds its X-Cache to an origin's, and then cannot tell them apart.
  'httpd_suppress_version_string on',
  ...squids.map((name) => `reply_header_access ${name} deny own_words`),
  'reply_header_access X-Cache deny all',
  'reply_header_access X-Cache-Lookup deny all',
];
