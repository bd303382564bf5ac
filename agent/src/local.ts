// The control socket of a running agent, for users who may read its folder: it shows the status,
// and explains decisions.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, linkSync, rmSync, statSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createListener, type Server as Listener } from 'node:net';
import { join } from 'node:path';
import { createServer, request as httpRequest } from '../../kit/src/node_http.ts';
import type {
  Answer,
  ExitHealth,
  LoginQuestion,
  Position,
  VpnHealthReport,
} from '../../kit/src/node_interface.ts';
import { systemClock } from './clock.ts';
import type { ConnectionLogState } from './connection_log/connection_log.ts';
import type { KnownFault } from './faults.ts';
import type { LinkStatus } from './link/link.ts';
import type { OwnQuestion } from './policy/records.ts';

export interface Status {
  version: string;
  url: string;
  server: string;
  node: number;
  engine: string;
  state: LinkStatus['state'];
  /** The stored position, and the one that the engine has put in force; null without a policy. */
  stored: Position | null;
  applied: Position | null;
  /** Epoch seconds, and how long ago; null if the control plane has not been heard from yet. */
  heard_at: number | null;
  heard_seconds_ago: number | null;
  ports: number[];
  connections: number;
  /** Whether it accepts no new connections, as the operator requested. */
  drained: boolean;
  /** Rows of usage that the control plane has not accepted yet. */
  usage_waiting: number;
  /** Null: the agent is starting. */
  connection_log: ConnectionLogState | null;
  exits: ExitHealth[];
  /** Null: no VPN is served, or it has not been checked yet. */
  vpn: VpnHealthReport | null;
  faults: KnownFault[];
}

/** The questions that a running agent answers. */
export interface Local {
  status(): Status;
  explain(question: OwnQuestion | LoginQuestion): Promise<Answer>;
}

const longestPathBytes = 107;
const maxBytes = 1024 * 1024;
const maxTries = 10;

const socketPath = (state_dir: string) => join(state_dir, 'agent.sock');

/**
 * Responds on the socket until it is closed. Errors: one sentence if another agent already does.
 */
export async function serveLocal(state_dir: string, local: Local): Promise<{ close(): void }> {
  const path = socketPath(state_dir);
  if (Buffer.byteLength(path) > longestPathBytes) {
    throw new Error(
      `EXITWARD_AGENT_STATE_DIR: ${state_dir} is too long for a socket in it; expected at most ${longestPathBytes - '/agent.sock'.length} bytes.`,
    );
  }
  const hold = await holdFolder(state_dir);
  if (!hold) throw alreadyRuns(state_dir);
  const server = createServer((request, response) => {
    respond(local, request, response).catch(() => response.destroy());
  });
  // The socket gets its name when it can respond, and only this user has access.
  const unnamedPath = join(state_dir, `.${randomBytes(4).toString('hex')}`);
  try {
    await listen(server, unnamedPath);
    chmodSync(unnamedPath, 0o600);
    // No process listens there: it is a leftover.
    rmSync(path, { force: true });
    linkSync(unnamedPath, path);
  } catch (error) {
    server.close();
    hold.release();
    const { code } = error as NodeJS.ErrnoException;
    throw code === 'EEXIST'
      ? alreadyRuns(state_dir)
      : new Error(`${path} cannot be created (${code}).`);
  } finally {
    rmSync(unnamedPath, { force: true });
  }
  const inode = inodeOf(path);
  return {
    close() {
      server.close();
      server.closeAllConnections();
      if (inodeOf(path) === inode) rmSync(path, { force: true });
      hold.release();
    },
  };
}

/**
 * Keeps other agents out of the folder until it is released, or this process ends in any way.
 * Undefined if an agent runs there. On systems where every socket needs a file, an agent that
 * starts at the same moment is detected only by the name of its socket.
 */
export async function holdFolder(state_dir: string): Promise<{ release(): void } | undefined> {
  const lock = createListener((socket) => socket.destroy());
  if (process.platform === 'linux') {
    for (let tries = 1; !lock.listening; tries++) {
      try {
        await listen(lock, `\0exitward-agent-${inodeOf(state_dir)}`);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
        if (tries === maxTries) return undefined;
        // A child process that is just starting briefly holds the open files of its parent.
        await systemClock.sleep(0.05);
      }
    }
  }
  const release = () => void lock.close();
  // The lock does not keep out an agent in another network namespace.
  if (!(await isRunning(state_dir))) return { release };
  release();
  return undefined;
}

/** Identifies a file while it exists; undefined if it does not. */
function inodeOf(path: string): string | undefined {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stat && `${stat.dev}-${stat.ino}`;
}

async function listen(server: Listener, path: string): Promise<void> {
  server.listen(path);
  await once(server, 'listening');
  // From here on an error concerns a single connection that could not be accepted.
  server.on('error', () => {});
}

function alreadyRuns(state_dir: string): Error {
  return new Error(`Another agent runs on ${state_dir} already.`);
}

async function respond(
  local: Local,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const send = (status: number, value: unknown) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(value));
  };
  try {
    const route = `${request.method} ${request.url}`;
    if (route === 'GET /status') send(200, local.status());
    else if (route === 'POST /explain') {
      send(200, await local.explain((await readJson(request)) as OwnQuestion | LoginQuestion));
    } else send(404, { message: `There is no ${route}.` });
  } catch (error) {
    send(500, { message: (error as Error).message });
  }
}

// ---- The asking side ----------------------------------------------------------------------

/** Whether an agent responds there. */
async function isRunning(state_dir: string): Promise<boolean> {
  try {
    await ask(state_dir, 'GET', '/status');
    return true;
  } catch (error) {
    // An agent that is starting, or stuck, counts as running.
    return !isAbsent(error);
  }
}

/** Errors: one sentence. */
export async function askStatus(state_dir: string): Promise<Status> {
  return (await askOrSay(state_dir, 'GET', '/status')) as Status;
}

/** Errors: one sentence. */
export async function askExplain(
  state_dir: string,
  question: OwnQuestion | LoginQuestion,
): Promise<Answer> {
  return (await askOrSay(state_dir, 'POST', '/explain', question)) as Answer;
}

async function askOrSay(state_dir: string, method: string, path: string, value?: unknown) {
  try {
    return await ask(state_dir, method, path, value);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (isAbsent(error)) {
      throw new Error(
        `No agent runs on ${state_dir}; start one with exitward-agent run, or set EXITWARD_AGENT_STATE_DIR.`,
      );
    }
    throw new Error(
      code === 'EACCES' ? `This user may not ask the agent on ${state_dir}.` : message,
    );
  }
}

function isAbsent(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' || code === 'ECONNREFUSED' || code === 'ENOTDIR';
}

async function ask(
  state_dir: string,
  method: string,
  path: string,
  value?: unknown,
): Promise<unknown> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = httpRequest({
      socketPath: socketPath(state_dir),
      method,
      path,
      agent: false,
      timeout: 10_000,
    });
    request.once('timeout', () => {
      request.destroy(new Error(`The agent on ${state_dir} does not answer.`));
    });
    request.on('error', reject);
    request.once('response', resolve);
    request.end(value === undefined ? undefined : JSON.stringify(value));
  });
  const answered = await readJson(response);
  if (response.statusCode === 200) return answered;
  throw new Error((answered as { message: string }).message);
}

async function readJson(message: IncomingMessage): Promise<unknown> {
  let text = '';
  for await (const piece of message.setEncoding('utf8')) {
    text += piece;
    if (text.length > maxBytes) throw new Error('too long');
  }
  return JSON.parse(text);
}
