// Answers questions: turns an operator's question into a request, and the engine's decision into an
// answer.

import { whyConfined } from '../../../kit/src/address.ts';
import type { Answer, ExitCheck, LoginQuestion } from '../../../kit/src/node_interface.ts';
import type { Engine, Explanation } from '../engine.ts';
import { sentenceOfFailure, statusOfFailure } from '../failures.ts';
import { explainDecision } from '../policy/decide.ts';
import type { Authority, ProxyRequest, Question, VpnLogin } from '../policy/decision.ts';
import type { OwnQuestion } from '../policy/records.ts';

export function questionOf(value: OwnQuestion | LoginQuestion): Question {
  return 'login' in value ? loginOf(value) : requestOf(value);
}

/** The login, assuming the right password. */
export function loginOf({ service, login, exit_ip, from }: LoginQuestion): VpnLogin {
  return { kind: 'login', service, login, exit_ip, source: from, proves: () => true };
}

export function requestOf(value: OwnQuestion): ProxyRequest {
  const { from: source, port, method, host, destination_port } = value;
  const request = { source, port, method, host, destination_port };
  return { kind: 'request', ...request, credentials: credentialsOf(value) };
}

function credentialsOf({ user, token, claims }: OwnQuestion): ProxyRequest['credentials'] {
  if (claims === null) return null;
  if (claims) return { user: user ?? '', claims };
  if (user === undefined && token === undefined) return undefined;
  return { user: user ?? '', password: token ?? '' };
}

/** The parts of a node that answer questions. */
export interface Answering extends Pick<Engine, 'explain'> {
  /** Sends a request through an exit. Undefined: this node sends no requests. */
  checkExit?(ip: string): Promise<ExitCheck>;
}

/**
 * The engine's decision and, if the question wants it, the outcome of a request through the exit.
 */
export async function answerTo(
  question: OwnQuestion | LoginQuestion,
  node: Answering,
): Promise<Answer> {
  const answer = answerOf(await node.explain(questionOf(question)));
  const isLetThrough = answer.verdict === 'allow';
  if (!isLetThrough || !wantsCheck(question, answer) || !answer.exit_ip || !node.checkExit) {
    return answer;
  }
  return { ...answer, checked: await node.checkExit(answer.exit_ip) };
}

/**
 * Nothing is sent on a connection of another account: the duration would reveal something about it.
 */
function wantsCheck(question: OwnQuestion | LoginQuestion, { account, user }: Answer): boolean {
  if ('login' in question) return false;
  const { check_exit = false, check_exit_of: of } = question;
  return check_exit || (of !== undefined && of.account === account && (of.user ?? user) === user);
}

export function answerOf({ decision, position, failure, isUnresolved }: Explanation): Answer {
  const { revision } = position;
  const outcome = { verdict: decision.verdict, ...explainDecision(decision) };
  if (isUnresolved) {
    outcome.message += '; the name of its destination could not be resolved in time to check it';
  }
  if (decision.verdict !== 'allow') {
    const { principal, dial } = decision;
    if (!principal) return { ...outcome, revision };
    const { authority, contract, user } = principal;
    const of = { rule: ruleOf(authority), account: contract, user };
    return { ...outcome, ...of, ...(dial === undefined ? {} : { dial }), revision };
  }
  const { authority, override, contract, user, exit_ip, dial } = decision;
  const confined = whyConfined(exit_ip);
  if (confined) outcome.message += `; its exit ${exit_ip} ${confined}`;
  const failedOutcome = failure && {
    verdict: 'deny' as const,
    status: statusOfFailure(failure),
    reason: failure,
    message: sentenceOfFailure(failure),
  };
  const rules = [ruleOf(authority), ...(override === undefined ? [] : [`override ${override}`])];
  return {
    ...(failedOutcome ?? outcome),
    rule: rules.join(', '),
    ...(contract === '' ? {} : { account: contract, user }),
    exit_ip,
    ...(dial === undefined ? {} : { dial }),
    revision,
  };
}

function ruleOf(authority: Authority): string {
  if (authority.by === 'authlist') return `authlist ${authority.entry}`;
  if (authority.by === 'token') return `token signed by key ${authority.kid}`;
  return authority.by === 'vpn' ? 'the VPN password' : "the node's own check";
}
