(* From random words to the radius and the cosine of normals (internal/kernel/normals.go, rounded.go): they are
   within 58.8 eps and 3 eps of those of all continuations of the words, as rounded.v needs. M, S and C are the
   polynomials of minusLog1p and sincos without any rounding. What rounding adds to them is bounded by Gappa
   (log1p.gappa, sincos.gappa) and assumed here. *)

From Coq Require Import ZArith Lia Reals Lra Psatz.
From Flocq Require Import Core.
From Coquelicot Require Import Coquelicot.
From Interval Require Import Tactic.
From DPSGD Require Import float64.
Open Scope R_scope.

(* The coefficients as float64. *)
Definition s0 : R := (-750599937895081) / 4503599627370496. (* -1.66666666666666307295e-1 *)
Definition s1 : R := 300239975157629 / 36028797018963968. (* 8.33333333332211858878e-3 *)
Definition s2 : R := (-7320136532877059) / 36893488147419103232. (* -1.98412698295895385996e-4 *)
Definition s3 : R := 6506786710177953 / 2361183241434822606848. (* 2.75573136213857245213e-6 *)
Definition s4 : R := (-7571123942793053) / 302231454903657293676544. (* -2.50507477628578072866e-8 *)
Definition s5 : R := 6149556183080141 / 38685626227668133590597632. (* 1.58962301576546568060e-10 *)
Definition c0 : R := 6004799503160651 / 144115188075855872. (* 4.16666666666665929218e-2 *)
Definition c1 : R := (-6405119470030737) / 4611686018427387904. (* -1.38888888888730564116e-3 *)
Definition c2 : R := 7320136533427445 / 295147905179352825856. (* 2.48015872888517045348e-5 *)
Definition c3 : R := (-2602714736764387) / 9444732965739290427392. (* -2.75573141792967388112e-7 *)
Definition c4 : R := 5047434750082821 / 2417851639229258349412352. (* 2.08757008419747316778e-9 *)
Definition c5 : R := (-7030593573755547) / 618970019642690137449562112. (* -1.13585365213876817300e-11 *)
Definition r0 : R := 6004799503160723 / 9007199254740992. (* 6.666666666666735130e-01 *)
Definition r1 : R := 1801439850921601 / 4503599627370496. (* 3.999999999940941908e-01 *)
Definition r2 : R := 5146971033736025 / 18014398509481984. (* 2.857142874366239149e-01 *)
Definition r3 : R := 8006390766270639 / 36028797018963968. (* 2.222219843214978396e-01 *)
Definition r4 : R := 3275661152453103 / 18014398509481984. (* 1.818357216161805012e-01 *)
Definition r5 : R := 5517391500461727 / 36028797018963968. (* 1.531383769920937332e-01 *)
Definition r6 : R := 1332903234475153 / 9007199254740992. (* 1.479819860511658591e-01 *)
Definition S t := let z := t * t in let Z := z * z in
  ((s5 * z + s4) * (Z * Z) + ((s3 * z + s2) * Z + (s1 * z + s0))) * (z * t) + t.
Definition C t := let z := t * t in let Z := z * z in
  ((c5 * z + c4) * (Z * Z) + ((c3 * z + c2) * Z + (c1 * z + c0))) * Z + (z * (-0.5) + 1).
Definition M g := let half := 0.5 * g * g in let s := g / (2 + g) in let z := s * s in let Z := z * z in
  (half - s * (((r6 * Z + (r5 * z + r4)) * (Z * Z) + ((r3 * z + r2) * Z + (r1 * z + r0))) * z + half)) - g.

(* The polynomials against the functions. *)

Ltac numeric := interval with (i_prec 80).
Ltac numbers := unfold S, C, M, s0, s1, s2, s3, s4, s5, c0, c1, c2, c3, c4, c5, r0, r1, r2, r3, r4, r5, r6; cbv zeta.

(* A polynomial and a function that are both odd, or both even, are as near each other on both sides of 0. *)
Lemma near_on_both_sides p f s b e : Rabs s = 1 -> (forall t, p (- t) = s * p t) -> (forall t, f (- t) = s * f t) ->
  (forall t, 0 <= t <= b -> Rabs (p t - f t) <= e) -> forall t, Rabs t <= b -> Rabs (p t - f t) <= e.
Proof.
  intros One P F N t H. destruct (Rle_or_lt 0 t) as [L|L].
  - apply N. rewrite Rabs_pos_eq in H; lra.
  - rewrite Rabs_left in H by lra. specialize (N (- t) ltac:(lra)).
    rewrite P, F, <- Rmult_minus_distr_l, Rabs_mult, One in N. lra.
Qed.

Ltac near := intros x H; rewrite eps_is; numbers; interval with (i_bisect x, i_taylor x, i_degree 15, i_prec 90).

Lemma sine_near t : Rabs t <= 0.785398163397449 -> Rabs (S t - sin t) <= 0.1 * eps.
Proof.
  apply (near_on_both_sides S sin (-1)); [rewrite Rabs_left; lra | intros; unfold S; cbv zeta; ring | intros; rewrite sin_neg; ring | near].
Qed.

Lemma cosine_near t : Rabs t <= 0.785398163397449 -> Rabs (C t - cos t) <= 0.1 * eps.
Proof.
  apply (near_on_both_sides C cos 1); [apply Rabs_R1 | intros; unfold C; cbv zeta; ring | intros; rewrite cos_neg; ring | near].
Qed.

Lemma logarithm_near g : -0.2929 <= g <= 0.4143 -> Rabs (M g + ln (1 + g)) <= 0.01 * eps.
Proof. intros H. rewrite eps_is. numbers. interval with (i_bisect g, i_taylor g, i_degree 12, i_prec 90, i_depth 20). Qed.

(* Near 1 the error is relative. With s = g/(2+g), M g = -2s - s^3 R(s^2), and -ln(1+g) = ln(1-s) - ln(1+s). Both are
   0 at 0, and their derivatives are near each other. *)
Definition R z := ((r6 * (z * z) + (r5 * z + r4)) * (z * z * (z * z)) + ((r3 * z + r2) * (z * z) + (r1 * z + r0))).

Lemma derivatives_near z : 0 <= z <= 0.003 ->
  Rabs (2 * z / (1 - z) - (3 * r0 * z + 5 * r1 * z^2 + 7 * r2 * z^3 + 9 * r3 * z^4 + 11 * r4 * z^5 + 13 * r5 * z^6 + 15 * r6 * z^7)) <= 0.15 * eps.
Proof. intros H. rewrite eps_is. numbers. interval with (i_bisect z, i_taylor z, i_degree 12, i_prec 90). Qed.

Lemma logarithm_near_one g : -0.2929 <= g <= 0 -> Rabs (M g + ln (1 + g)) <= 0.1 * eps * - g.
Proof.
  intros H. destruct (Rle_or_lt g (-0.1)) as [L|L].
  { apply Rle_trans with (1 := logarithm_near g ltac:(lra)). rewrite eps_is. lra. }
  pose (f := fun s => ln (1 + s) - ln (1 - s) - 2 * s - s * (s * s) * R (s * s)).
  set (s := g / (2 + g)).
  assert (G : g = 2 * s / (1 - s)) by (unfold s; field; lra).
  assert (B : -0.053 < s <= 0) by (unfold s; split; [apply Rmult_lt_reg_r with (2 + g); [lra|]; field_simplify; lra | apply Rmult_le_reg_r with (2 + g); [lra|]; field_simplify; lra]).
  assert (E : M g + ln (1 + g) = f s).
  { unfold f. replace (1 + g) with ((1 + s) / (1 - s)) by (rewrite G; field; lra).
    rewrite ln_div by lra. unfold M. cbv zeta. fold s. fold (R (s * s)). rewrite G. replace 0.5 with (/ 2) by lra. field. lra. }
  rewrite E. clear E.
  assert (Z : f 0 = 0). { unfold f. replace (1 + 0) with 1 by ring. replace (1 - 0) with 1 by ring. rewrite ln_1. ring. }
  destruct (MVT_gen f s 0 (fun s => let z := s * s in 2 * z / (1 - z) - (3 * r0 * z + 5 * r1 * z^2 + 7 * r2 * z^3 + 9 * r3 * z^4 + 11 * r4 * z^5 + 13 * r5 * z^6 + 15 * r6 * z^7))) as (c & Hc & E).
  - intros x Hx. rewrite Rmin_left, Rmax_right in Hx by lra.
    unfold f, R. auto_derive; [repeat split; lra|]. cbv zeta. field. split; nra.
  - intros x Hx. rewrite Rmin_left, Rmax_right in Hx by lra.
    apply derivable_continuous_pt, ex_derive_Reals_0. unfold f, R. auto_derive. repeat split; lra.
  - rewrite Rmin_left, Rmax_right in Hc by lra. cbv zeta in E.
    replace (f s) with (- (f 0 - f s)) by lra. rewrite E, Rabs_Ropp, Rabs_mult, (Rabs_pos_eq (0 - s)) by lra.
    apply Rle_trans with (0.15 * eps * (0 - s)).
    + apply Rmult_le_compat_r; [lra|]. apply derivatives_near. nra.
    + rewrite eps_is. assert (g <= 1.5 * s) by (rewrite G; apply Rmult_le_reg_r with (1 - s); [lra|]; field_simplify; nra). lra.
Qed.

Lemma eta_is_small : 0 < eta <= 1e-40 * eps.
Proof.
  rewrite eps_is. unfold eta. pose proof (bpow_gt_0 radix2 (-1074)). split; [lra|].
  apply Rle_trans with (/ 2 * bpow radix2 (-200)); [apply Rmult_le_compat_l; [lra | apply bpow_le; lia]|].
  change (bpow radix2 (-200)) with (/ IZR (2 ^ 200)). numeric.
Qed.

(* How far a step of the angle moves its sine and cosine. *)
Lemma near_angles a b : Rabs a <= 0.7854 -> Rabs b <= 0.7854 ->
  Rabs (sin a - sin b) <= Rabs (a - b) /\ Rabs (cos a - cos b) <= 0.7072 * Rabs (a - b).
Proof.
  intros A B. apply Rabs_le_inv in A, B. split.
  - destruct (MVT_gen sin b a cos) as (c & _ & E).
    + intros. apply is_derive_Reals, derivable_pt_lim_sin.
    + intros. apply continuity_sin.
    + rewrite E, Rabs_mult. pose proof (COS_bound c). rewrite <- (Rmult_1_l (Rabs (a - b))) at 2.
      apply Rmult_le_compat_r; [apply Rabs_pos | apply Rabs_le; lra].
  - destruct (MVT_gen cos b a (fun x => - sin x)) as (c & H & E).
    + intros. apply is_derive_Reals, derivable_pt_lim_cos.
    + intros. apply continuity_cos.
    + assert (-0.7854 <= c <= 0.7854) by (revert H; unfold Rmin, Rmax; destruct (Rle_dec b a); lra).
      rewrite E, Rabs_mult, Rabs_Ropp. apply Rmult_le_compat_r; [apply Rabs_pos | numeric].
Qed.

(* 2 pi / 2^64 as float64, and the exact distance from the nearest quarter turn of a word. *)
Definition turn := 884279719003555 / 2596148429267413814265248164610048. (* 884279719003555 / 2^111 *)
Definition angle n := IZR n * (2 * PI / 18446744073709551616).

Lemma turn_near : Rabs (turn - 2 * PI / 18446744073709551616) <= 0.4 * eps * (2 * PI / 18446744073709551616).
Proof. rewrite eps_is. unfold turn. interval with (i_prec 120). Qed.

Lemma expand A B e a p : A * (e * a) * (p * (1 + B * e)) + a * (B * e * p) = A * (e * (a * p)) + A * B * (e * (e * (a * p))) + B * (e * (a * p)).
Proof. ring. Qed.

Lemma swap a b c : a * (b * c) = b * (a * c).
Proof. ring. Qed.

(* The angle, rounded twice. *)
Lemma angle_near n : (Z.abs n <= 2 ^ 61)%Z ->
  Rabs (float64 (float64 (IZR n) * turn) - angle n) <= 2.401 * eps * Rabs (angle n).
Proof.
  intros H. destruct (Z.eq_dec n 0) as [->|N].
  { unfold angle. unfold float64 at 2. rewrite round_0, 2!Rmult_0_l by apply valid_rnd_N. unfold float64. rewrite round_0 by apply valid_rnd_N.
    rewrite Rminus_0_r, Rabs_R0. lra. }
  set (p := 2 * PI / 18446744073709551616). assert (P : 0 < p) by (unfold p; pose proof PI_RGT_0; lra).
  assert (A : 1 <= Rabs (IZR n)) by (rewrite <- abs_IZR; apply IZR_le; lia).
  pose proof (float64_error (IZR n)) as X. set (x := float64 (IZR n)) in *.
  pose proof (float64_error (x * turn)) as Y. set (y := float64 (x * turn)) in *.
  pose proof turn_near as T. fold p in T.
  unfold angle. fold p. rewrite Rabs_mult, (Rabs_pos_eq p) by lra. set (a := Rabs (IZR n)) in *.
  assert (B : 1e-20 <= p) by (unfold p; numeric).
  pose proof eta_is_small as H'.
  rewrite eps_is in *.
  set (e := / 9007199254740992) in *. assert (Ee : 0 < e <= 1.2e-16) by (unfold e; lra).
  assert (Ea : e * 1 <= e * a) by (apply Rmult_le_compat_l; lra).
  assert (X' : Rabs (x - IZR n) <= 1.0001 * (e * a)) by lra.
  set (u := a * p). set (v := e * u).
  assert (U : 1e-20 <= u) by (unfold u; apply Rle_trans with (1 * p); [lra | apply Rmult_le_compat_r; lra]).
  assert (V : e * 1e-20 <= v) by (apply Rmult_le_compat_l; lra).
  assert (EV : e * v <= 1.2e-16 * v) by (apply Rmult_le_compat_r; lra).
  assert (T' : Rabs turn <= p * (1 + 0.4 * e)).
  { replace turn with (p + (turn - p)) by ring. apply Rle_trans with (1 := Rabs_triang _ _).
    rewrite (Rabs_pos_eq p) by lra. lra. }
  assert (Z : Rabs (x * turn - IZR n * p) <= 1.4002 * v).
  { replace (x * turn - IZR n * p) with ((x - IZR n) * turn + IZR n * (turn - p)) by ring.
    apply Rle_trans with (1 := Rabs_triang _ _). rewrite 2!Rabs_mult. fold a.
    apply Rle_trans with (1.0001 * (e * a) * (p * (1 + 0.4 * e)) + a * (0.4 * e * p)).
    - apply Rplus_le_compat; apply Rmult_le_compat; try apply Rabs_pos; try assumption; lra.
    - rewrite expand. fold u. fold v. lra. }
  assert (W : Rabs (x * turn) <= 1.0001 * u).
  { replace (x * turn) with ((x * turn - IZR n * p) + IZR n * p) by ring. apply Rle_trans with (1 := Rabs_triang _ _).
    rewrite (Rabs_mult (IZR n)), (Rabs_pos_eq p) by lra. fold a. fold u.
    assert (v <= 1.2e-16 * u) by (apply Rmult_le_compat_r; lra). lra. }
  replace (y - IZR n * p) with ((y - x * turn) + (x * turn - IZR n * p)) by ring.
  apply Rle_trans with (1 := Rabs_triang _ _).
  assert (H0 : e * Rabs (x * turn) <= e * (1.0001 * u)) by (apply Rmult_le_compat_l; lra).
  rewrite swap in H0. fold v in H0. rewrite (Rmult_assoc 2.401). fold u v. lra.
Qed.

(* Of the angle phi of every continuation of a word, sine and cosine are within 3 eps. *)
Theorem sines_are_near n phi sine cosine :
  (Z.abs n <= 2 ^ 61)%Z -> Rabs (phi - angle n) <= 2 * PI / 18446744073709551616 ->
  let t := float64 (float64 (IZR n) * turn) in
  Rabs (sine - S t) <= 1.1213e-16 -> Rabs (cosine - C t) <= 1.5654e-16 ->
  Rabs (sine - sin phi) <= 3 * eps /\ Rabs (cosine - cos phi) <= 3 * eps.
Proof.
  intros H F t Hs Hc. pose proof (angle_near n H) as N. fold t in N.
  assert (P : 3.1415 <= PI <= 3.14159265358979324) by (split; numeric).
  assert (A : Rabs (angle n) <= 0.78539816339744831).
  { unfold angle. rewrite Rabs_mult, <- abs_IZR, (Rabs_pos_eq (2 * PI / _)) by lra.
    apply IZR_le in H. change (IZR (2 ^ 61)) with 2305843009213693952 in H.
    apply Rle_trans with (2305843009213693952 * (2 * PI / 18446744073709551616)); [apply Rmult_le_compat_r|]; lra. }
  rewrite eps_is in *. set (e := / 9007199254740992) in *. assert (Ee : 1.1102e-16 <= e <= 1.1103e-16) by (unfold e; lra).
  assert (N' : Rabs (t - angle n) <= 1.8858 * e).
  { apply Rle_trans with (1 := N). apply Rle_trans with (2.401 * e * 0.78539816339744831); [apply Rmult_le_compat_l|]; lra. }
  assert (Tn : Rabs (t - phi) <= 1.8889 * e).
  { replace (t - phi) with ((t - angle n) - (phi - angle n)) by ring. apply Rle_trans with (1 := Rabs_triang _ _). rewrite Rabs_Ropp. lra. }
  assert (B : Rabs t <= 0.785398163397449).
  { replace t with ((t - angle n) + angle n) by ring. apply Rle_trans with (1 := Rabs_triang _ _). lra. }
  assert (Bp : Rabs phi <= 0.7854).
  { replace phi with (t - (t - phi)) by ring. apply Rle_trans with (1 := Rabs_triang _ _). rewrite Rabs_Ropp. lra. }
  pose proof (sine_near t B) as Ns. pose proof (cosine_near t B) as Nc. rewrite eps_is in *. fold e in Ns, Nc.
  destruct (near_angles t phi ltac:(lra) Bp) as [Ls Lc].
  split.
  - replace (sine - sin phi) with ((sine - S t) + (S t - sin t) + (sin t - sin phi)) by ring.
    apply Rle_trans with (1 := Rabs_triang _ _). pose proof (Rabs_triang (sine - S t) (S t - sin t)). lra.
  - replace (cosine - cos phi) with ((cosine - C t) + (C t - cos t) + (cos t - cos phi)) by ring.
    apply Rle_trans with (1 := Rabs_triang _ _). pose proof (Rabs_triang (cosine - C t) (C t - cos t)). lra.
Qed.

(* The other quarters: sincos exchanges and negates, which is exact. *)
Theorem quarters phi :
  (sin (phi + PI / 2) = cos phi /\ cos (phi + PI / 2) = - sin phi) /\
  (sin (phi + PI) = - sin phi /\ cos (phi + PI) = - cos phi) /\
  (sin (phi + 3 * (PI / 2)) = - cos phi /\ cos (phi + 3 * (PI / 2)) = sin phi).
Proof.
  replace (phi + 3 * (PI / 2)) with ((phi + PI / 2) + PI) by field.
  rewrite 2!neg_sin, 2!neg_cos, sin_plus, cos_plus, sin_PI2, cos_PI2. lra.
Qed.

(* The radius. E U = -ln U, and the radius is the root of twice that. *)
Definition E U := - ln U.
Definition radius U := sqrt (2 * E U).

Lemma roots_near a b c : 0 <= a -> 0 <= b -> 0 < c -> c <= sqrt a -> c <= sqrt b ->
  Rabs (sqrt a - sqrt b) <= Rabs (a - b) / (2 * c).
Proof.
  intros A B C HA HB.
  apply Rmult_le_reg_r with (2 * c); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  replace (a - b) with ((sqrt a - sqrt b) * (sqrt a + sqrt b)).
  - rewrite Rabs_mult. apply Rmult_le_compat_l; [apply Rabs_pos|]. rewrite Rabs_pos_eq; lra.
  - replace ((sqrt a - sqrt b) * (sqrt a + sqrt b)) with (sqrt a * sqrt a - sqrt b * sqrt b) by ring. rewrite 2!sqrt_sqrt; lra.
Qed.

(* A logarithm moves by no more than the relative step. *)
Lemma logarithms_near a b : 0 < a -> 0 < b -> Rabs (ln a - ln b) <= Rabs (a - b) / Rmin a b.
Proof.
  assert (L : forall a b, 0 < a <= b -> ln b - ln a <= (b - a) / a).
  { intros x y H. rewrite <- ln_div by lra. pose proof (exp_ineq1_le (ln (y / x))) as P.
    rewrite exp_ln in P by (apply Rdiv_lt_0_compat; lra). replace ((y - x) / x) with (y / x - 1) by (field; lra). lra. }
  intros A B. destruct (Rle_or_lt a b) as [H|H].
  - rewrite Rmin_left, (Rabs_minus_sym (ln a)), (Rabs_minus_sym a) by lra.
    pose proof (ln_le a b A H). rewrite 2!Rabs_pos_eq by lra. apply L. lra.
  - rewrite Rmin_right by lra. pose proof (ln_le b a B ltac:(lra)). rewrite 2!Rabs_pos_eq by lra. apply L. lra.
Qed.

Definition least := / 524288. (* 2^-19 *)
Definition most := 1 - / 1073741824. (* 1 - 2^-30 *)
Definition follow := / 18446744073709551616. (* 2^-64 *)

Lemma most_below u : u <= most -> 0 < u -> 9.3e-10 <= E u.
Proof.
  intros H P. unfold E. pose proof (exp_ineq1_le (ln u)) as Q. rewrite exp_ln in Q by lra. unfold most in H. lra.
Qed.

Lemma at_least u : least <= u -> E u <= 13.1698.
Proof.
  intros H. unfold E. assert (0 < least) by (unfold least; lra). pose proof (ln_le least u ltac:(lra) H).
  assert (-13.1698 <= ln least) by (unfold least; numeric). lra.
Qed.

(* u times the radius is least at 2^-19: written with y = E u. *)
Lemma slope y : 9.3e-10 <= y <= 13.1698 -> / 524288 * 5.131 <= exp (- y) * sqrt (2 * y).
Proof.
  intros H. destruct (Rle_or_lt y 0.001) as [L|L].
  - apply Rle_trans with (0.99 * sqrt (2 * 9.3e-10)); [numeric|].
    apply Rmult_le_compat; [lra | apply sqrt_pos | | apply sqrt_le_1_alt; lra].
    apply Rle_trans with (exp (- 0.001)); [numeric|]. apply Rnot_lt_le. intros N. apply exp_lt_inv in N. lra.
  - interval with (i_bisect y, i_depth 30, i_prec 64).
Qed.

(* The bits of U that follow those of its word. *)
Lemma bits_that_follow u U : least <= u <= most -> least <= U <= most -> Rabs (u - U) <= follow ->
  Rabs (radius u - radius U) <= 49.91 * eps.
Proof.
  intros Hu HU H.
  assert (P : forall u, least <= u <= most -> / 524288 * 5.131 <= u * sqrt (2 * E u)).
  { intros x Hx. assert (0 < x) by (unfold least in Hx; lra).
    rewrite <- (exp_ln x) at 1 by assumption. replace (ln x) with (- E x) by (unfold E; ring).
    apply slope. split; [apply most_below | apply at_least]; lra. }
  assert (0 < u /\ 0 < U) as [Pu PU] by (unfold least in *; lra).
  assert (G : forall a b, least <= a <= most -> least <= b <= most -> a <= b -> Rabs (a - b) <= follow -> Rabs (radius a - radius b) <= 49.91 * eps).
  { intros a b Ha Hb L D. assert (0 < a /\ 0 < b) as [Pa Pb] by (unfold least in *; lra).
    pose proof (most_below b ltac:(lra) Pb) as Eb.
    assert (Eab : E b <= E a) by (unfold E; pose proof (ln_le a b Pa L); lra).
    pose proof (P b Hb) as S. pose proof (sqrt_lt_R0 (2 * E b) ltac:(lra)) as Q. set (r := sqrt (2 * E b)) in *.
    pose proof (logarithms_near a b Pa Pb) as N. rewrite Rmin_left in N by lra.
    unfold radius. fold r.
    apply Rle_trans with (1 := roots_near (2 * E a) (2 * E b) r ltac:(lra) ltac:(lra) Q ltac:(apply sqrt_le_1_alt; lra) (Rle_refl r)).
    assert (A : Rabs (2 * E a - 2 * E b) <= 2 * (follow / a)).
    { replace (2 * E a - 2 * E b) with (- (2 * (ln a - ln b))) by (unfold E; ring). rewrite Rabs_Ropp, Rabs_mult, (Rabs_pos_eq 2) by lra.
      apply Rmult_le_compat_l; [lra|]. apply Rle_trans with (1 := N). apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat|]; lra. }
    apply Rle_trans with (2 * (follow / a) / (2 * r)).
    { apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra | exact A]. }
    replace (2 * (follow / a) / (2 * r)) with (follow / (a * r)) by (field; lra).
    assert (B : b - a <= follow) by (rewrite Rabs_left1 in D; lra).
    assert (Rr : r <= 5.1323).
    { pose proof (at_least b ltac:(lra)). apply Rle_trans with (sqrt (2 * 13.1698)); [apply sqrt_le_1_alt; lra | numeric]. }
    assert (F : / 524288 * 5.1309 <= a * r).
    { replace (a * r) with (b * r - (b - a) * r) by ring.
      assert ((b - a) * r <= follow * 5.1323) by (apply Rmult_le_compat; unfold follow in *; lra). unfold follow in *. lra. }
    apply Rle_trans with (follow / (/ 524288 * 5.1309)).
    + apply Rmult_le_compat_l; [unfold follow; lra|]. apply Rinv_le_contravar; [lra | exact F].
    + rewrite eps_is. unfold follow. lra. }
  destruct (Rle_or_lt u U) as [L|L]; [apply G; assumption|].
  rewrite Rabs_minus_sym. apply G; try assumption; [lra|]. rewrite Rabs_minus_sym. assumption.
Qed.

(* The root of a value near 2 (E U), rounded. *)
Lemma rounded_root x : 0 <= x <= 40 -> Rabs (float64 (sqrt x) - sqrt x) <= eps * sqrt x + 1e-40 * eps.
Proof. intros H. pose proof (float64_error (sqrt x)) as F. rewrite (Rabs_pos_eq (sqrt x)) in F by apply sqrt_pos. pose proof eta_is_small. lra. Qed.

(* u above sqrt(1/2): g = u - 1, rounded once, and m = minusLog1p g, whose rounding is that of log1p.gappa. *)
Lemma exponential_near_one u m : 0.70710678 <= u <= most ->
  let g := float64 (u - 1) in Rabs (m - M g) <= 1.9 * eps * M g ->
  Rabs (m - E u) <= 3.5 * eps * E u.
Proof.
  intros H g F. assert (U : 0 < u) by lra. pose proof (most_below u ltac:(lra) U) as B.
  assert (L : 1 - u <= E u). { unfold E. pose proof (exp_ineq1_le (ln u)) as Q. rewrite exp_ln in Q by lra. lra. }
  pose proof (float64_error (u - 1)) as X. fold g in X. pose proof eta_is_small as T. unfold most in H.
  rewrite (Rabs_left1 (u - 1)) in X by lra. rewrite eps_is in *. set (e := / 9007199254740992) in *.
  assert (Ee : 0 < e <= 1.2e-16) by (unfold e; lra).
  assert (W : e * 9.3e-10 <= e * (1 - u)) by (apply Rmult_le_compat_l; lra).
  assert (X' : Rabs (g - (u - 1)) <= 1.0001 * (e * (1 - u))) by lra.
  assert (W' : e * (1 - u) <= 1.2e-16 * (1 - u)) by (apply Rmult_le_compat_r; lra).
  pose proof (Rabs_le_inv _ _ X') as Xi.
  assert (G : -0.2929 <= g <= 0) by lra.
  pose proof (logarithm_near_one g G) as N. rewrite eps_is in N. fold e in N.
  pose proof (logarithms_near (1 + g) u ltac:(lra) U) as D.
  assert (Dm : 0.707 <= Rmin (1 + g) u) by (apply Rmin_glb; lra).
  replace (1 + g - u) with (g - (u - 1)) in D by ring.
  assert (D' : Rabs (ln (1 + g) - ln u) <= 1.0001 * (e * (1 - u)) / 0.707).
  { apply Rle_trans with (1 := D). apply Rmult_le_compat; [apply Rabs_pos | left; apply Rinv_0_lt_compat; lra | exact X' |].
    apply Rinv_le_contravar; lra. }
  assert (Le : e * (1 - u) <= e * E u) by (apply Rmult_le_compat_l; lra).
  assert (Me : Rabs (M g - E u) <= 1.52 * (e * E u)).
  { replace (M g - E u) with ((M g + ln (1 + g)) - (ln (1 + g) - ln u)) by (unfold E; ring).
    apply Rle_trans with (1 := Rabs_triang _ _). rewrite Rabs_Ropp.
    assert (0.1 * e * - g <= 0.1 * (1.0001 * (e * E u))).
    { rewrite Rmult_assoc. apply Rmult_le_compat_l; [lra|].
      apply Rle_trans with (e * (1.0001 * E u)); [apply Rmult_le_compat_l; lra | right; apply swap]. }
    unfold Rdiv in D'. lra. }
  pose proof (Rabs_le_inv _ _ Me) as Mi.
  assert (V : e * E u <= 1.2e-16 * E u) by (apply Rmult_le_compat_r; lra).
  assert (MM : e * M g <= e * (1.0001 * E u)) by (apply Rmult_le_compat_l; lra).
  replace (m - E u) with ((m - M g) + (M g - E u)) by ring. apply Rle_trans with (1 := Rabs_triang _ _).
  rewrite Rmult_assoc in F.
  rewrite (Rmult_assoc 3.5).
  rewrite (swap e) in MM. lra.
Qed.

(* u below sqrt(1/2): rounded once, to (1+g)/2^k. ln2 is ln 2 as float64. *)
Definition ln2 := 6243314768165359 / 9007199254740992.

Lemma ln2_near : Rabs (ln2 - ln 2) <= 0.31 * eps * ln 2.
Proof. rewrite eps_is. unfold ln2. interval with (i_prec 120). Qed.

Lemma ln_of_power k : ln (2 ^ k) = INR k * ln 2.
Proof.
  induction k as [|k IH]; [cbn; rewrite ln_1; ring|].
  rewrite S_INR. cbn [pow]. rewrite ln_mult, IH by (try apply pow_lt; lra). ring.
Qed.

Lemma exponential_below u g k m : least <= u <= 0.70710679 ->
  float64 u = (1 + g) / 2 ^ k -> -0.2929 <= g <= 0.4143 -> Rabs (m - M g) <= 6.9944e-17 ->
  Rabs (float64 (INR k * ln2 + m) - E u) <= eps * (1.31 * E u + 1.76).
Proof.
  intros H Hu G F. assert (U : 0 < u) by (unfold least in H; lra).
  pose proof (at_least u ltac:(lra)) as B.
  assert (A : 0.346 <= E u).
  { unfold E. pose proof (ln_le u 0.70710679 U ltac:(lra)). assert (ln 0.70710679 <= -0.346) by numeric. lra. }
  pose proof (float64_error u) as X. rewrite (Rabs_pos_eq u) in X by lra. pose proof eta_is_small as T.
  pose proof (logarithm_near g G) as N. pose proof ln2_near as L.
  rewrite eps_is in *. set (e := / 9007199254740992) in *. set (v := float64 u) in *.
  assert (Ee : 1.1102e-16 <= e <= 1.1103e-16) by (unfold e; lra).
  assert (Ue : e * / 524288 <= e * u) by (apply Rmult_le_compat_l; unfold least in H; lra).
  assert (Ue' : e * u <= 1.2e-16 * u) by (apply Rmult_le_compat_r; lra).
  assert (X' : Rabs (v - u) <= 1.0001 * e * u) by (rewrite Rmult_assoc; lra).
  pose proof (Rabs_le_inv _ _ X') as Xi. rewrite Rmult_assoc in Xi.
  assert (D : Rabs (ln v - ln u) <= 1.001 * e).
  { apply Rle_trans with (1 := logarithms_near v u ltac:(lra) U).
    assert (Dm : 0.9999 * u <= Rmin v u) by (apply Rmin_glb; lra).
    apply Rle_trans with (1.0001 * e * u / (0.9999 * u)).
    - apply Rmult_le_compat; [apply Rabs_pos | left; apply Rinv_0_lt_compat; lra | exact X' | apply Rinv_le_contravar; lra].
    - apply Rle_trans with (1.0001 * e * / 0.9999); [right; field; lra | lra]. }
  assert (K : ln v = ln (1 + g) - INR k * ln 2).
  { rewrite Hu. rewrite ln_div by (try apply pow_lt; lra). rewrite ln_of_power. reflexivity. }
  assert (0 <= INR k) by apply pos_INR.
  assert (L1 : Rabs (INR k * (ln2 - ln 2)) <= 0.31 * e * (INR k * ln 2)).
  { rewrite Rabs_mult, (Rabs_pos_eq (INR k)) by assumption.
    replace (0.31 * e * (INR k * ln 2)) with (INR k * (0.31 * e * ln 2)) by apply swap.
    apply Rmult_le_compat_l; assumption. }
  assert (G1 : ln (1 + g) <= 0.3467).
  { pose proof (ln_le (1 + g) 1.4143 ltac:(lra) ltac:(lra)). assert (ln 1.4143 <= 0.3467) by numeric. lra. }
  pose proof (Rabs_le_inv _ _ D) as Di.
  assert (Q : e * (INR k * ln 2) <= e * (E u + 0.347)) by (apply Rmult_le_compat_l; [lra | unfold E in *; lra]).
  assert (S : Rabs (INR k * ln2 + m - E u) <= e * (0.31 * E u + 1.7505)).
  { replace (INR k * ln2 + m - E u) with (INR k * (ln2 - ln 2) + ((m - M g) + (M g + ln (1 + g)) + - (ln v - ln u))) by (rewrite K; unfold E; ring).
    apply Rle_trans with (1 := Rabs_triang _ _).
    pose proof (Rabs_triang (m - M g + (M g + ln (1 + g))) (- (ln v - ln u))) as R1. rewrite Rabs_Ropp in R1.
    pose proof (Rabs_triang (m - M g) (M g + ln (1 + g))) as R2.
    rewrite Rmult_assoc in L1.
    rewrite Rmult_plus_distr_l in Q |- *. rewrite (swap e 0.31). lra. }
  pose proof (Rabs_le_inv _ _ S) as Si.
  assert (V : e * (0.31 * E u + 1.7505) <= e * 6) by (apply Rmult_le_compat_l; lra).
  assert (Y : Rabs (INR k * ln2 + m) <= E u + 1e-15) by (apply Rabs_le; lra).
  pose proof (float64_error (INR k * ln2 + m)) as Z. rewrite eps_is in Z. fold e in Z.
  assert (Z' : e * Rabs (INR k * ln2 + m) <= e * (E u + 1e-15)) by (apply Rmult_le_compat_l; lra).
  replace (float64 (INR k * ln2 + m) - E u) with ((float64 (INR k * ln2 + m) - (INR k * ln2 + m)) + (INR k * ln2 + m - E u)) by ring.
  apply Rle_trans with (1 := Rabs_triang _ _).
  rewrite Rmult_plus_distr_l in Z', S |- *. rewrite (swap e 0.31) in S. rewrite (swap e 1.31). lra.
Qed.

(* The root of twice what is near E u. *)
Lemma root_near x u d : 0 < E u -> 0 <= d <= 1e-6 * E u -> Rabs (x - E u) <= d ->
  Rabs (sqrt (2 * x) - radius u) <= d / (0.999999 * radius u).
Proof.
  intros P D H. pose proof (Rabs_le_inv _ _ H). unfold radius. set (r := sqrt (2 * E u)).
  assert (R : 0 < r) by (apply sqrt_lt_R0; lra).
  assert (C : 0.999999 * r <= sqrt (2 * x)).
  { replace (0.999999 * r) with (sqrt (0.999999 * 0.999999 * (2 * E u))).
    - apply sqrt_le_1_alt. lra.
    - rewrite sqrt_mult by lra. rewrite sqrt_square by lra. reflexivity. }
  apply Rle_trans with (1 := roots_near (2 * x) (2 * E u) (0.999999 * r) ltac:(lra) ltac:(lra) ltac:(lra) C ltac:(fold r; lra)).
  replace (2 * x - 2 * E u) with (2 * (x - E u)) by ring. rewrite Rabs_mult, (Rabs_pos_eq 2) by lra.
  apply Rle_trans with (2 * d / (2 * (0.999999 * r))); [apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra | lra]|].
  right. assert (0 < 0.999999 * r) by lra. set (c := 0.999999 * r) in *. field. lra.
Qed.

(* Every U whose first bits are those of u has a radius within 58.8 eps. *)
Theorem radii_are_near_one u U m : 0.70710678 <= u <= most -> least <= U <= most -> Rabs (u - U) <= follow ->
  let g := float64 (u - 1) in Rabs (m - M g) <= 1.9 * eps * M g ->
  Rabs (float64 (sqrt (2 * m)) - radius U) <= 58.8 * eps.
Proof.
  intros H HU D g F. assert (P : 0 < u) by lra.
  pose proof (most_below u ltac:(lra) P) as B.
  pose proof (exponential_near_one u m H F) as N.
  pose proof (bits_that_follow u U ltac:(unfold least; lra) HU D) as W.
  assert (A : E u <= 0.3466).
  { unfold E. pose proof (ln_le 0.70710678 u ltac:(lra) ltac:(lra)). assert (-0.3466 <= ln 0.70710678) by numeric. lra. }
  rewrite eps_is in *. set (e := / 9007199254740992) in *. assert (Ee : 0 < e <= 1.2e-16) by (unfold e; lra).
  assert (V : e * E u <= 1.2e-16 * E u) by (apply Rmult_le_compat_r; lra).
  assert (V0 : e * 9.3e-10 <= e * E u) by (apply Rmult_le_compat_l; lra).
  pose proof (root_near m u (3.5 * e * E u) ltac:(lra) ltac:(rewrite Rmult_assoc; lra) N) as Q.
  set (r := radius u) in *.
  assert (R2 : E u = r * r / 2) by (unfold r, radius; rewrite sqrt_sqrt by lra; field).
  assert (Rp : 0 < r) by (unfold r, radius; apply sqrt_lt_R0; lra).
  assert (Rb : r <= 0.8327) by (unfold r, radius; apply Rle_trans with (sqrt (2 * 0.3466)); [apply sqrt_le_1_alt; lra | numeric]).
  assert (Q' : Rabs (sqrt (2 * m) - r) <= 2 * e).
  { apply Rle_trans with (1 := Q). rewrite R2. apply Rle_trans with (e * (1.75001 * r)).
    - apply Rmult_le_reg_r with (0.999999 * r); [lra|]. unfold Rdiv at 1. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
      assert (0 <= e * (r * r)) by (apply Rmult_le_pos; [|apply Rmult_le_pos]; lra).
      replace (e * (1.75001 * r) * (0.999999 * r)) with (1.75001 * 0.999999 * (e * (r * r))) by (rewrite <- (Rmult_assoc e); set (a := 1.75001); set (b := 0.999999); ring).
      replace (3.5 * e * (r * r / 2)) with (3.5 / 2 * (e * (r * r))) by (set (a := 3.5); field). lra.
    - rewrite (Rmult_comm 2). apply Rmult_le_compat_l; lra. }
  pose proof (Rabs_le_inv _ _ Q') as Qi.
  pose proof (Rabs_le_inv _ _ N) as Ni. rewrite Rmult_assoc in Ni.
  pose proof (rounded_root (2 * m) ltac:(lra)) as Z. rewrite eps_is in Z. fold e in Z.
  assert (Z' : e * sqrt (2 * m) <= e * 1) by (apply Rmult_le_compat_l; lra).
  replace (float64 (sqrt (2 * m)) - radius U) with ((float64 (sqrt (2 * m)) - sqrt (2 * m)) + ((sqrt (2 * m) - r) + (r - radius U))) by ring.
  apply Rle_trans with (1 := Rabs_triang _ _). pose proof (Rabs_triang (sqrt (2 * m) - r) (r - radius U)). lra.
Qed.

Theorem radii_are_near_below u U g k m : least <= u <= 0.70710679 -> least <= U <= most -> Rabs (u - U) <= follow ->
  float64 u = (1 + g) / 2 ^ k -> -0.2929 <= g <= 0.4143 -> Rabs (m - M g) <= 6.9944e-17 ->
  Rabs (float64 (sqrt (2 * float64 (INR k * ln2 + m))) - radius U) <= 58.8 * eps.
Proof.
  intros H HU D Hu G F. assert (P : 0 < u) by (unfold least in H; lra).
  pose proof (at_least u ltac:(lra)) as B.
  assert (A : 0.346 <= E u).
  { unfold E. pose proof (ln_le u 0.70710679 P ltac:(lra)). assert (ln 0.70710679 <= -0.346) by numeric. lra. }
  pose proof (exponential_below u g k m H Hu G F) as N. set (x := float64 (INR k * ln2 + m)) in *.
  pose proof (bits_that_follow u U ltac:(unfold most; lra) HU D) as W.
  rewrite eps_is in *. set (e := / 9007199254740992) in *. assert (Ee : 0 < e <= 1.2e-16) by (unfold e; lra).
  assert (V : 0 <= e * (1.31 * E u + 1.76) <= 1.2e-16 * 20) by (split; [apply Rmult_le_pos | apply Rmult_le_compat]; lra).
  pose proof (root_near x u (e * (1.31 * E u + 1.76)) ltac:(lra) ltac:(lra) N) as Q.
  set (r := radius u) in *.
  assert (R2 : E u = r * r / 2) by (unfold r, radius; rewrite sqrt_sqrt by lra; field).
  assert (Rb : 0.83 <= r <= 5.1323).
  { unfold r, radius. split.
    - rewrite <- (sqrt_square 0.83) by lra. apply sqrt_le_1_alt. lra.
    - rewrite <- (sqrt_square 5.1323) by lra. apply sqrt_le_1_alt. lra. }
  assert (Q' : Rabs (sqrt (2 * x) - r) <= 3.71 * e).
  { apply Rle_trans with (1 := Q). rewrite R2.
    apply Rmult_le_reg_r with (0.999999 * r); [lra|]. unfold Rdiv at 1. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
    rewrite (Rmult_comm 3.71), Rmult_assoc. apply Rmult_le_compat_l; [lra|].
    assert (0 <= (r - 0.83) * (5.1323 - r)) by (apply Rmult_le_pos; lra). lra. }
  pose proof (Rabs_le_inv _ _ Q') as Qi. pose proof (Rabs_le_inv _ _ N) as Ni.
  pose proof (rounded_root (2 * x) ltac:(lra)) as Z. rewrite eps_is in Z. fold e in Z.
  assert (Z' : e * sqrt (2 * x) <= e * 5.133) by (apply Rmult_le_compat_l; lra).
  replace (float64 (sqrt (2 * x)) - radius U) with ((float64 (sqrt (2 * x)) - sqrt (2 * x)) + ((sqrt (2 * x) - r) + (r - radius U))) by ring.
  apply Rle_trans with (1 := Rabs_triang _ _). pose proof (Rabs_triang (sqrt (2 * x) - r) (r - radius U)). lra.
Qed.

Theorem radii_are_bounded U : least <= U <= most -> 0 <= radius U <= 5.133.
Proof.
  intros H. split; [apply sqrt_pos|]. pose proof (at_least U ltac:(lra)). unfold radius.
  apply Rle_trans with (sqrt (2 * 13.1698)); [apply sqrt_le_1_alt; lra | numeric].
Qed.
