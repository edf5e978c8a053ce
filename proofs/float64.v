(* float64, where nothing overflows: 53 bits, to nearest, ties to even. *)

From Coq Require Import ZArith Lia Reals Lra.
From Flocq Require Import Core Relative.
Open Scope R_scope.

Definition float64 (r : R) : R := round radix2 (FLT_exp (-1074) 53) ZnearestE r.

(* The relative error of one rounding, and the absolute one of what underflows. *)
Definition eps := / 2 * bpow radix2 (-53 + 1).
Definition eta := / 2 * bpow radix2 (-1074).

Lemma eps_is : eps = / 9007199254740992.
Proof. unfold eps. cbn. lra. Qed.

Lemma float64_error r : Rabs (float64 r - r) <= eps * Rabs r + eta.
Proof.
  destruct (error_N_FLT radix2 (-1074) 53 eq_refl (fun n => negb (Z.even n)) r) as (e & h & He & Hh & _ & E).
  change (/ 2 * bpow radix2 (- (53) + 1)) with eps in He. fold eta in Hh.
  unfold float64. rewrite E. replace (r * (1 + e) + h - r) with (e * r + h) by ring.
  apply Rle_trans with (1 := Rabs_triang _ _). rewrite Rabs_mult.
  apply Rplus_le_compat; [apply Rmult_le_compat_r; [apply Rabs_pos | exact He] | exact Hh].
Qed.
