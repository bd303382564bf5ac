// Addresses drawn at random, the odd ones more often: zeros, ones, and IPv4 inside of IPv6.
import fc from 'fast-check';

const octet = fc.integer({ min: 0, max: 255 });
export const octets = fc.tuple(octet, octet, octet, octet);
export const ipv4 = octets.map((four) => four.join('.'));
const group = fc.oneof(fc.constant(0), fc.constant(0xffff), fc.integer({ min: 0, max: 0xffff }));
/** The eight parts of an IPv6 address. */
export const groups = fc.oneof(
  fc.tuple(group, group, group, group, group, group, group, group),
  fc.tuple(group, group).map((two) => [0, 0, 0, 0, 0, 0xffff, ...two]),
  fc.tuple(group, group).map((two) => [0, 0, 0, 0, 0, 0, ...two]),
);
export const ipv6 = groups.map((eight) => eight.map((part) => part.toString(16)).join(':'));
