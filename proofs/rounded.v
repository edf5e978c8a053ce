(* When 64 bits decide an integer of noise (internal/kernel/rounded.go): the last steps, from the radius
   and the cosine to the integer. That the radius is within 58.8 eps and the cosine within 3 eps is in
   normals.v. *)

From Coq Require Import ZArith Lia Reals Lra Psatz.
From Flocq Require Import Core.
From DPSGD Require Import float64.
Open Scope R_scope.

Definition two_46 := / 70368744177664. (* 2^-46 *)
Definition two_44 := / 17592186044416. (* 2^-44 *)
Definition two_50 := / 1125899906842624. (* 2^-50 *)
Definition two_54 := / 18014398509481984. (* 2^-54 *)

Lemma product_bound a b A B : Rabs a <= A -> Rabs b <= B -> Rabs (a * b) <= A * B.
Proof. intros. rewrite Rabs_mult. apply Rmult_le_compat; auto using Rabs_pos. Qed.

Lemma sum_bound a b A B : Rabs a <= A -> Rabs b <= B -> Rabs (a + b) <= A + B.
Proof. intros. apply Rle_trans with (1 := Rabs_triang a b). lra. Qed.

(* x = rest + (r*deviation)*cos, rounded once each, is within 2^-54 + 2^-46*deviation of
   rest + deviation*Z, where Z is the exact radius times the exact cosine (or sine). deviation is at
   least 2^-1018, so that what underflows does not count. *)
Theorem normals_are_near radius r cosine c rest deviation :
  0 <= radius <= 5.133 -> Rabs (r - radius) <= 58.8 * eps ->
  Rabs cosine <= 1 -> Rabs (c - cosine) <= 3 * eps ->
  Rabs rest <= / 2 -> 16 * eta <= eps * deviation ->
  Rabs (float64 (float64 (deviation * r) * c + rest) - (rest + deviation * (radius * cosine)))
  < two_54 + two_46 * deviation.
Proof.
  intros HR Hr HC Hc Hrest HD.
  pose proof eps_is as E. assert (H : 0 < eta) by (unfold eta; pose proof (bpow_gt_0 radix2 (-1074)); lra).
  assert (D : 0 < deviation) by (rewrite E in HD; nra).
  set (p := float64 (deviation * r)). set (x := float64 (p * c + rest)).
  assert (Br : Rabs r <= 5.134).
  { replace r with ((r - radius) + radius) by ring.
    apply Rle_trans with (58.8 * eps + 5.133); [|rewrite E; lra].
    apply sum_bound; [exact Hr | rewrite Rabs_pos_eq; lra]. }
  assert (Bc : Rabs c <= 1.001).
  { replace c with ((c - cosine) + cosine) by ring.
    apply Rle_trans with (3 * eps + 1); [|rewrite E; lra]. apply sum_bound; assumption. }
  assert (Bd : Rabs deviation <= deviation) by (rewrite Rabs_pos_eq; lra).
  pose proof (float64_error (deviation * r)) as P. fold p in P.
  pose proof (product_bound _ _ _ _ Bd Br) as Bdr.
  assert (P' : Rabs (p - deviation * r) <= 5.2 * eps * deviation).
  { apply Rle_trans with (1 := P). apply Rle_trans with (eps * (deviation * 5.134) + eta); [|nra].
    apply Rplus_le_compat_r, Rmult_le_compat_l; [rewrite E; lra | exact Bdr]. }
  (* p*c against deviation * radius * cosine *)
  assert (Q : Rabs (p * c - deviation * (radius * cosine)) <= 79.7 * eps * deviation).
  { replace (p * c - deviation * (radius * cosine))
      with ((p - deviation * r) * c + (deviation * ((r - radius) * c + radius * (c - cosine)))) by ring.
    apply Rle_trans with (5.2 * eps * deviation * 1.001 + deviation * (58.8 * eps * 1.001 + 5.133 * (3 * eps)));
      [|rewrite E; lra].
    apply sum_bound; [apply product_bound; assumption|]. apply product_bound; [exact Bd|].
    apply sum_bound; apply product_bound; try assumption. rewrite Rabs_pos_eq; lra. }
  assert (Bz : Rabs (deviation * (radius * cosine)) <= deviation * (5.133 * 1)).
  { apply product_bound; [exact Bd|]. apply product_bound; [rewrite Rabs_pos_eq; lra | exact HC]. }
  assert (Bx : Rabs (p * c + rest) <= 5.2 * deviation + / 2).
  { replace (p * c) with ((p * c - deviation * (radius * cosine)) + deviation * (radius * cosine)) by ring.
    apply Rle_trans with (79.7 * eps * deviation + deviation * (5.133 * 1) + / 2); [|rewrite E; lra].
    repeat apply sum_bound; assumption. }
  pose proof (float64_error (p * c + rest)) as X. fold x in X.
  replace (x - (rest + deviation * (radius * cosine)))
    with ((x - (p * c + rest)) + (p * c - deviation * (radius * cosine))) by ring.
  apply Rle_lt_trans with ((eps * (5.2 * deviation + / 2) + eta) + 79.7 * eps * deviation).
  - apply sum_bound; [|exact Q]. apply Rle_trans with (1 := X).
    apply Rplus_le_compat_r, Rmult_le_compat_l; [rewrite E; lra | exact Bx].
  - unfold two_54, two_46. rewrite E in *. lra.
Qed.

(* An integer n is certain if x, which is near t = rest + deviation*Z, is within
   1/2 - 2^-50 - 2^-44*deviation of it: t is next to n, and to no other integer. *)
Theorem integers_are_certain x t n deviation :
  0 < deviation <= 1099511627776 ->
  Rabs (x - t) < two_54 + two_46 * deviation ->
  Rabs (float64 (x - IZR n)) <= float64 (/ 2 - two_50 - two_44 * deviation) ->
  Rabs (t - IZR n) < / 2 /\ ZnearestE t = n.
Proof.
  intros HD HT HX.
  enough (A : Rabs (t - IZR n) < / 2) by (split; [exact A | apply Znearest_imp; exact A]).
  pose proof eps_is as E.
  assert (H : 0 < eta <= two_54 * two_54).
  { unfold eta. split; [pose proof (bpow_gt_0 radix2 (-1074)); lra|].
    apply Rle_trans with (bpow radix2 (-108)).
    - pose proof (bpow_le radix2 (-1074) (-108) ltac:(lia)). pose proof (bpow_gt_0 radix2 (-1074)). lra.
    - unfold two_54. cbn. lra. }
  pose proof (float64_error (/ 2 - two_50 - two_44 * deviation)) as L.
  pose proof (float64_error (x - IZR n)) as X.
  rewrite (Rabs_pos_eq (/ 2 - two_50 - two_44 * deviation)) in L by (unfold two_44, two_50; lra).
  apply Rabs_le_inv in L.
  pose proof (Rabs_triang_inv (x - IZR n) (float64 (x - IZR n))) as T.
  rewrite (Rabs_minus_sym (x - IZR n)) in T.
  replace (t - IZR n) with ((x - IZR n) - (x - t)) by ring.
  apply Rle_lt_trans with (Rabs (x - IZR n) + Rabs (x - t)).
  { apply Rle_trans with (1 := Rabs_triang _ _). rewrite Rabs_Ropp. lra. }
  unfold two_54, two_50, two_46, two_44 in *. rewrite E in *. lra.
Qed.
