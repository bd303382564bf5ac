// JSON responses, and the plain ones of /console, /admin and /node.
import type { FastifyReply } from 'fastify';
import { badRequest } from '../errors.ts';

export const jsonType = 'application/json; charset=UTF-8';

/** Sends 200 with `value` as JSON; bytes are already JSON. */
export function sendJson(reply: FastifyReply, value: unknown): FastifyReply {
  return reply.type(jsonType).send(Buffer.isBuffer(value) ? value : JSON.stringify(value));
}

/** Sends 201 with `value` as JSON, and its location. */
export function sendCreated(reply: FastifyReply, location: string, value: unknown): FastifyReply {
  return sendJson(reply.code(201).header('location', location), value);
}

export function sendNothing(reply: FastifyReply): FastifyReply {
  return reply.code(204).send();
}

/** Errors: 400 when a change names none of its fields. */
export function requireChange(body: object): void {
  if (Object.keys(body).length === 0) {
    throw badRequest('The body changes nothing; send at least one field to change.');
  }
}
