// An address that cannot be listed because somebody else has listed it: what its reader can do.
import type { Explained } from '../api/sentences.ts';

/** Adds the way on for whoever cannot take the other entry away; `seen` are the entries that they see. */
export function listedElsewhere(
  explained: Explained,
  seen: ReadonlyArray<{ ip: string }> | undefined,
  isAdmin: boolean,
): Explained {
  const { sentence } = explained;
  const [, ip] = /^(\S+) is already on the authlist\.$/.exec(sentence) ?? [];
  if (!ip || isAdmin || seen?.some((entry) => entry.ip === ip)) return explained;
  return { ...explained, sentence: `${sentence} Ask an admin, or use a token.` };
}
