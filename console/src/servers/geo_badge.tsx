// Where geo-IP providers place an exit IP, compared with its server, in words.
import { Badge, type Tone } from '../ui/ui.ts';

/** By the API's status. */
export const geoWords = {
  crit: 'in another country',
  warn: 'over 250 km off',
  ok: 'correct',
} as const;
const tones: Record<string, Tone> = { crit: 'bad', warn: 'warn', ok: 'good' };
const words: Record<string, string> = geoWords;

export function GeoBadge({ status }: { status: string }) {
  return <Badge tone={tones[status] ?? 'neutral'}>{words[status] ?? status}</Badge>;
}
