// A state as a word, with a colour that only repeats it.
import type { ComponentChildren } from 'preact';
import { health } from './health.ts';

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

const words: Record<string, string> = health;

/** A status of the API: of health in words; pending, active, expiring, expired as they are. */
export function Status({ status }: { status: string }) {
  return <Badge tone={tones[status] ?? 'neutral'}>{words[status] ?? status}</Badge>;
}
