// Resolves the hostname of a question, as an engine does after its decision: an allowed connection
// may be refused by where its name leads.
import { isIP } from 'node:net';
import type { Clock } from './clock.ts';
import type { Explanation } from './engine.ts';
import { deny } from './policy/decide.ts';
import type { Question } from './policy/decision.ts';
import { readHostname } from './policy/destination.ts';
import type { NameFailure, Resolver } from './resolver.ts';

/** The addresses of a name in one family, or why there are none. */
export type Resolved = string[] | NameFailure;

/** A name's addresses: an exit can use those of its own family, and not those of the other one. */
export interface ResolvedName {
  usable: Resolved;
  unusable: Resolved;
}

/** Why an engine does not connect to such a name; undefined: it does. */
type Judge = (
  name: ResolvedName,
) => 'destination_refused' | 'other_family' | NameFailure | undefined;

/** The client of a question waits for five seconds, and a check of the exit may take three. */
const patienceSeconds = 1.5;

/**
 * The outcome that a client would get, with the name of its destination resolved. That is done
 * whatever the decision is: neither the time it takes nor a query at the name's server may reveal
 * the decision.
 */
export async function explainDestination(
  question: Question,
  explain: () => Promise<Explanation>,
  { resolver, clock, judge }: { resolver: Resolver; clock: Clock; judge: Judge },
): Promise<Explanation> {
  const name = question.kind === 'request' ? readHostname(question.host) : undefined;
  if (name === undefined) return explain();
  const [explanation, resolved] = await Promise.all([
    explain(),
    resolveBoth(name, resolver, clock),
  ]);
  const { decision } = explanation;
  if (decision.verdict !== 'allow' || decision.dial !== undefined) return explanation;
  if (decision.authority.by === 'probe') return explanation;
  if (!resolved) return { ...explanation, isUnresolved: true };
  const [ipv4, ipv6] = resolved;
  const reason = judge(
    isIP(decision.exit_ip) === 4
      ? { usable: ipv4, unusable: ipv6 }
      : { usable: ipv6, unusable: ipv4 },
  );
  if (reason === undefined) return explanation;
  if (reason === 'unresolved' || reason === 'no_name_server') {
    return { ...explanation, failure: reason };
  }
  const { authority, contract, user } = decision;
  return {
    ...explanation,
    decision: { ...deny(reason), principal: { authority, contract, user } },
  };
}

/** Undefined: it takes too long. */
async function resolveBoth(
  name: string,
  resolver: Resolver,
  clock: Clock,
): Promise<[ipv4: Resolved, ipv6: Resolved] | undefined> {
  const over = new AbortController();
  try {
    return await Promise.race([
      Promise.all([resolver.resolve(name, 4), resolver.resolve(name, 6)]),
      clock.sleep(patienceSeconds, over.signal).then(() => undefined),
    ]);
  } finally {
    over.abort();
  }
}
