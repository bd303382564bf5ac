// What the words of an operation say.

/** The words of one operation; everything left out follows from its method and path. */
export interface OperationWords {
  id?: string;
  description?: string;
  /** Name of the record that it returns, or lists. */
  record?: string;
  /** Name of the record that a status returns, where it is another one. */
  records?: Record<number, string>;
  /** Name of its body. */
  body?: string;
  /** The meaning of a status here, where the general words are too general. */
  statuses?: Record<number, string>;
}
