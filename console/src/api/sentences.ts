// Errors become sentences for people here, and nowhere else.
import type { Fault } from '../ui/ui.ts';
import { ApiError } from './api.ts';

/** The error of a request, for the person who made it. */
export function explain(error: unknown): Fault {
  if (!(error instanceof ApiError)) {
    return plain('Something went wrong on this page. Reload it and try again.');
  }
  const { status, code, field, message, retry_after, request_id, isOfRead } = error;
  if (status === 0) {
    const isLate = code === 'timeout';
    const problem = isLate ? 'The server didn’t respond in time.' : 'Couldn’t reach the server.';
    return plain(
      `${problem} ${isOfRead ? 'This page tries again automatically.' : nextStep(isLate)}`,
    );
  }
  if (code === 'other_session') {
    return plain('You signed in again in another tab. Nothing was changed; try again.');
  }
  if (code === 'throttled') return plain(`Too many attempts. ${wait(retry_after)}`);
  if (status === 503) {
    return plain(`${sentenceOf(message)} As far as the server knows, nothing was changed.`);
  }
  if (status >= 500) {
    return plain(
      `Something went wrong on the server. It is in its log${request_id ? ` as request ${request_id}` : ''}.`,
    );
  }
  if (field === undefined) return plain(sentenceOf(message));
  // "expiry: 12 is not in the future; expected …": the field, then what is wrong.
  const fault = message.slice(`${field}: `.length);
  // Next to its field a fault needs no name, but a subject: "is taken" becomes "this is taken".
  return { sentence: sentenceOf(fault.replace(/^(?=(?:is|was|has) )/, 'this ')), field };
}

/** The next step after a change whose outcome is unknown. */
const nextStep = (isLate: boolean) =>
  isLate
    ? 'Your change may have been saved; check before you try again.'
    : 'Your change may not have been saved; try again.';

function plain(sentence: string): Fault {
  return { sentence, field: undefined };
}

function wait(seconds: number | undefined): string {
  if (!seconds) return 'Wait a moment, and try again.';
  return seconds < 90
    ? `Try again in ${seconds} seconds.`
    : `Try again in ${Math.ceil(seconds / 60)} minutes.`;
}

function sentenceOf(text: string): string {
  const trimmed = text.trim();
  // A name at the beginning stays as it is written: "shop.example.com is already …".
  const isWord = /^[a-z]+(?![\w.@-])/.test(trimmed);
  const first = isWord ? trimmed.charAt(0).toUpperCase() + trimmed.slice(1) : trimmed;
  return /[.!?]$/.test(first) ? first : `${first}.`;
}
