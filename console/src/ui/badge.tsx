// A state as a word, with a colour that only repeats it.
import type { ComponentChildren } from 'preact';

export type Tone = 'good' | 'warn' | 'bad' | 'busy' | 'neutral';

export function Badge({ tone, children }: { tone: Tone; children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

const tones: Record<string, Tone> = {
  ok: 'good',
  active: 'good',
  live: 'good',
  warn: 'warn',
  pending: 'busy',
  expiring: 'busy',
  crit: 'bad',
  lost: 'bad',
  suspended: 'bad',
};

/** A status in the API's words: ok, warn, crit, unknown; pending, active, expiring, expired. */
export function Status({ status }: { status: string }) {
  return <Badge tone={tones[status] ?? 'neutral'}>{status}</Badge>;
}
