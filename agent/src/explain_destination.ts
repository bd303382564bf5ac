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

/** A name's addresses in the family of the exit, and in the other one. */
export interface ResolvedName {
  own: Resolved;
  other: Resolved;
}

/** Why an engine does not connect to such a name; undefined: it does. */
type Judge = (
  name: ResolvedName,
) => 'destination_refused' | 'other_family' | NameFailure | undefined;

/** The client of a question waits for five seconds, and a check of the exit may take three. */
const patienceSeconds = 1.5;

/**
 * The explanation of a question, as its client would find it. A name is resolved whatever the
 * decision is: how long it takes, and what the name's own servers see, say nothing of others.
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
    isIP(decision.exit_ip) === 4 ? { own: ipv4, other: ipv6 } : { own: ipv6, other: ipv4 },
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
