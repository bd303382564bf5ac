// The trace of a request, from the `traceparent` header (W3C Trace Context, level 1).
import type { IncomingMessage } from 'node:http';

const form = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-[\da-f]{2}(-.*)?$/;

/** The trace id, 32 digits; undefined without a valid header: the request is served anyway. */
export function traceIdOf({ headers }: Pick<IncomingMessage, 'headers'>): string | undefined {
  const { traceparent } = headers;
  // Node joins two headers by a comma, which isn't valid here: there is no saying which was meant.
  if (typeof traceparent !== 'string') return undefined;
  const [, version, trace_id = '', parent_id = '', more] = form.exec(traceparent) ?? [];
  // Later versions may have more fields after these.
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
