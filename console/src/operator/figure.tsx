// A number that leads to what it counts; zero leads nowhere.
import { Link } from 'wouter-preact';

export function Figure({ value, path }: { value: number; path: string }) {
  return value === 0 ? '0' : <Link href={path}>{value.toLocaleString('en')}</Link>;
}
