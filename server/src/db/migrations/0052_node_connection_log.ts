// The fifty-second schema: whether a node keeps who used which exit, as its agent said last.

/** Null: its agent does not say. */
export const nodeConnectionLog = () => ['alter table nodes add column connection_log text'];
