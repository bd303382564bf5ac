// The trace that a request belongs to, as its caller says in `traceparent` (W3C Trace Context, level 1).
import type { IncomingMessage } from 'node:http';

const form = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-[\da-f]{2}(-.*)?$/;

/** The trace id, 32 digits; undefined without a header, and for one that is not valid: the request is served all the same. */
export function traceIdOf({ headers }: Pick<IncomingMessage, 'headers'>): string | undefined {
  const { traceparent } = headers;
  // Of two headers it cannot be told which one was meant; Node joins them by a comma, which has no place here.
  if (typeof traceparent !== 'string') return undefined;
  const [, version, trace_id = '', parent_id = '', more] = form.exec(traceparent) ?? [];
  // Versions to come may have more fields behind these.
  const isForm = version === '00' ? more === undefined : version !== undefined && version !== 'ff';
  return isForm && !/^0+$/.test(trace_id) && !/^0+$/.test(parent_id) ? trace_id : undefined;
}

/** The names of a request in a log line. */
export function traced(
  request_id: string,
  request: Pick<IncomingMessage, 'headers'>,
): { request_id: string; trace_id?: string } {
  const trace_id = traceIdOf(request);
  return trace_id === undefined ? { request_id } : { request_id, trace_id };
}
