// A server that runs although its data folder is gone: nothing that it stores then stays.
import { Failure } from '../../../kit/src/cli/failures.ts';
import { commandFetch } from '../../../kit/src/cli/https_proxy.ts';

const patienceMs = 2000;
const remedy =
  'move the data folder back; if it is lost, stop the server, put its keys file back, then: exitward restore BACKUP';

/** The data folder is gone, and a server that works without it answers. */
export class LostData extends Failure {
  readonly remedy = remedy;
  /** Without the remedy. */
  readonly sentence: string;

  constructor(sentence: string) {
    super(`${sentence} To fix it, ${remedy}.`);
    this.sentence = sentence;
  }
}

/**
 * Asks the server at this URL, without a token, whether its database file is gone; its sentence if
 * so, else undefined.
 */
export async function sentenceOfLostData(url: string): Promise<string | undefined> {
  try {
    const signal = AbortSignal.timeout(patienceMs);
    const response = await commandFetch(`${url}/readyz`, { redirect: 'manual', signal });
    const { code, message } = JSON.parse(await response.text()) as Record<string, unknown>;
    return code === 'database_lost' && typeof message === 'string' ? message : undefined;
  } catch {
    return undefined;
  }
}
