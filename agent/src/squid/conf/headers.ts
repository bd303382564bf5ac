// The headers that Squid adds to its own responses, and those that clients and origins must not
// see.
import { allReasons, reasonHeader, statusOf } from '../../policy/denials.ts';
import { allFaults, failureEntries, forgottenCheck } from './pages.ts';

/** Squid writes these into its own responses. */
const squids = ['Server', 'Mime-Version', 'X-Squid-Error'];

/**
 * The lines about headers. They use notes that squid_conf.ts sets. A rule on a response header
 * would be shorter, but makes Squid 5.7 fail an assertion.
 */
export const headerLines = [
  // An origin learns only what the client sends, and the exit address.
  'via off',
  'forwarded_for transparent',
  // Squid would add a maximum age for cached responses. The client's header passes unchanged.
  'request_header_access Cache-Control deny all',
  'acl has_cache_control req_header Cache-Control .',
  `request_header_add Cache-Control "%'>h{Cache-Control}" has_cache_control`,

  // Squid's own responses: denials by the policy; questions that got no response, because the
  // decider died or Squid read its configuration; and Squid's own faults.
  `acl challenged note reason_ ${allReasons.filter((reason) => statusOf(reason) === 407).join(' ')}`,
  'acl was_asked note asked_',
  'acl answered note account_',
  'acl unanswered all-of was_asked !answered !probe !refused',
  `acl forgotten squid_error ${forgottenCheck}`,
  'acl not_ready any-of unanswered forgotten',
  `acl failed squid_error ${allFaults.join(' ')}`,
  'acl own_words any-of refused not_ready failed',
  'reply_header_add Proxy-Authenticate "Basic realm=\\"Exitward\\"" challenged',
  `reply_header_add ${reasonHeader} "%note{reason_}" refused`,
  `reply_header_add ${reasonHeader} not_ready not_ready`,
  ...failureEntries.flatMap(([word, { names }]) => [
    `acl failed_${word} squid_error ${names.map((name) => `ERR_${name}`).join(' ')}`,
    `reply_header_add ${reasonHeader} "${word}" failed_${word} !not_ready`,
  ]),
  'reply_header_access Content-Type deny refused',
  'reply_header_access Content-Type deny not_ready',
  'reply_header_replace Content-Type text/plain;charset=utf-8',

  // Hides the proxy. Squid adds these to an origin's headers, and cannot separate them afterwards,
  // so the origin's are removed, too. Cache-Status comes from Squid 6.
  'httpd_suppress_version_string on',
  ...squids.map((name) => `reply_header_access ${name} deny own_words`),
  'reply_header_access X-Cache deny all',
  'reply_header_access X-Cache-Lookup deny all',
  'reply_header_access Cache-Status deny all',
];
