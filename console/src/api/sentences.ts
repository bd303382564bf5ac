// Errors become sentences for people here, and nowhere else.
import { ApiError } from './api.ts';

export interface Explained {
  /** What went wrong, and what can be done about it. */
  sentence: string;
  /** The field of a form that it is about, where the server named one. */
  field: string | undefined;
}

/** An error of a request, for the person who made it. */
export function explain(error: unknown): Explained {
  if (!(error instanceof ApiError)) {
    return plain('This page met an error of its own. Reload it, and try again.');
  }
  const { status, message, retry_after, request_id, isOfRead, isOfOtherSession } = error;
  if (status === 0) {
    const isLate = message === 'timeout';
    const what = isLate ? 'The server did not answer in time.' : 'The server cannot be reached.';
    return plain(`${what} ${isOfRead ? 'This page tries again by itself.' : nextStep(isLate)}`);
  }
  if (isOfOtherSession) {
    return plain(
      'A sign-in in another tab has taken the place of this one. Nothing was done; try again.',
    );
  }
  if (status === 401 && !namesField(message)) {
    return plain(message ? sentenceOf(message) : 'You are signed out. Sign in again.');
  }
  if (status === 429) {
    // The server's own sentence may say how long already.
    const said = message.replace(/[;,]? *try again in \d+ \w+\.?$/i, '');
    return plain(`${sentenceOf(said)} ${wait(retry_after)}`);
  }
  if (status === 503) {
    return plain(`${sentenceOf(message)} Nothing was changed, as far as the server knows.`);
  }
  if (status >= 500) {
    return plain(
      `Something went wrong on the server. It is in its log${request_id ? ` as request ${request_id}` : ''}.`,
    );
  }
  // "expiry: 12 is not in the future; expected …": the field, then what is wrong.
  const [, field, rest] = /^([a-z_.-]+): (.*)$/is.exec(message) ?? [];
  // Beside its field "is not right" needs no name, but a subject.
  const said = rest
    ?.replace(/^(?=(?:is|was|has) )/, 'this ')
    // The console shows no numbers of entries.
    .replace(/, by entry \d+\./, ', by another entry; change that one.');
  return { sentence: sentenceOf(said ?? message), field };
}

/** What to do about a change whose outcome is unknown. */
const nextStep = (isLate: boolean) =>
  isLate
    ? 'What you asked for may have been done; look before you try again.'
    : 'Nothing may have been done; try again.';

function plain(sentence: string): Explained {
  return { sentence, field: undefined };
}

const namesField = (message: string) => /^[a-z_.-]+: /.test(message);

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
