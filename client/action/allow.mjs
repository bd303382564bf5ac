// The first step of the action: lists the address of this runner until the last step removes it.
import { randomUUID } from 'node:crypto';
import process from 'node:process';
import { add, input, note, request, say } from './service.mjs';

/** The conflict of an address that is listed already; without specific codes, that of any. */
const conflicts = ['address_taken', 'conflict', '409'];

/** Epoch seconds. Errors: the input is no number of minutes. */
function end() {
  const minutes = Number(input('minutes'));
  if (!Number.isInteger(minutes) || minutes < 1) {
    throw new Error(`minutes: expected a whole number from 1, not "${input('minutes')}"`);
  }
  return Math.floor(Date.now() / 1000) + minutes * 60;
}

/** The account's own entry of the address that a conflict names. */
async function listedEntry({ message }) {
  const words = message.split(/[^\da-f.:]+/i).map((word) => word.replace(/[.:]$/, ''));
  return (await request('GET')).find(({ ip }) => words.includes(ip));
}

const inWords = ({ ip, user, expiry }) =>
  `${ip} is listed for ${user} until ${new Date(expiry * 1000).toISOString()}`;

async function allow() {
  const body = JSON.stringify({ user: input('user'), expiry: end() });
  const entry = { key: randomUUID(), body };
  // Before it is sent: if this is killed, the last step still finds the entry.
  note('GITHUB_STATE', 'entry', JSON.stringify(entry));
  try {
    const { id, ...added } = await add(entry);
    note('GITHUB_STATE', 'id', id);
    note('GITHUB_OUTPUT', 'ip', added.ip);
    say('notice', `${inWords(added)}, or the end of the job.`);
  } catch (error) {
    if (!conflicts.includes(error.code)) throw error;
    const listed = await listedEntry(error);
    if (!listed) throw error;
    note('GITHUB_STATE', 'entry', '');
    note('GITHUB_OUTPUT', 'ip', listed.ip);
    say('notice', `${inWords(listed)}; that entry is not changed.`);
  }
}

await allow().catch((error) => {
  say('error', error.message);
  process.exitCode = 1;
});
